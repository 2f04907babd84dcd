//! How to mend what is wrong, as far as the words of others allow to say.

/// Programs that are missing, and how to get them.
const PROGRAMS: [(&[&str], &str); 9] = [
    (
        &["npx", "npm", "node", "pnpm", "pnpx", "yarn"],
        "install Node.js from https://nodejs.org, which brings 'npx'",
    ),
    (&["uvx", "uv"], "install uv from https://docs.astral.sh/uv, which brings 'uvx'"),
    (&["python", "python3", "pip", "pipx"], "install Python from https://www.python.org"),
    (&["docker"], "install Docker from https://docs.docker.com/get-docker and start it"),
    (&["podman"], "install Podman from https://podman.io"),
    (&["bunx", "bun"], "install Bun from https://bun.sh"),
    (&["deno"], "install Deno from https://deno.com"),
    (&["java"], "install a Java runtime"),
    (&["dotnet"], "install .NET from https://dotnet.microsoft.com"),
];

/// What servers and the programs that start them say, and what helps. The first that fits counts.
const WORDS: [(&[&str], &str); 10] = [
    (&["docker daemon", "docker.sock"], "start Docker, then try again"),
    (
        &["404 not found", "e404", "not found in the package registry", "no matching distribution"],
        "correct the package's name or version in 'args'",
    ),
    // Before the network's: 'ModuleNotFoundError' has one of its words in it.
    (
        &["no module named", "cannot find module", "module not found", "err_module_not_found", "importerror"],
        "a part of it is not installed: install the package that the message names",
    ),
    (
        &[
            "enotfound",
            "eai_again",
            "getaddrinfo",
            "network is unreachable",
            "could not resolve",
            "dns error",
        ],
        "the package or a service could not be reached: look at the network connection and the proxy",
    ),
    (
        &[
            "api key",
            "api_key",
            "apikey",
            "token",
            "credential",
            "unauthorized",
            "environment variable",
            "is not set",
        ],
        "give it what the message asks for, under 'env'",
    ),
    (
        &[
            "usage:",
            "unrecognized argument",
            "unexpected argument",
            "unknown option",
            "required argument",
            "missing argument",
        ],
        "correct 'args'",
    ),
    (
        &["no such file", "enoent", "does not exist"],
        "correct the path that the message names, in 'args' or 'cwd'",
    ),
    (
        &["permission denied", "eacces", "operation not permitted"],
        "give this user the right that the message names",
    ),
    (
        &["unsupported engine", "requires node", "syntaxerror", "requires python"],
        "install a newer version of the program that runs it",
    ),
    (
        &["address already in use", "eaddrinuse"],
        "another program has its port: stop it, or give the server another one",
    ),
];

/// How to get a program that is not there.
pub(super) fn of_missing(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
    let name = [".exe", ".cmd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    if program.contains(['/', '\\']) {
        return "correct the path in 'command', or install the program there".to_owned();
    }
    let known = PROGRAMS.iter().find(|(names, _)| names.contains(&name));
    let install = known.map_or_else(|| format!("install '{name}'"), |(_, install)| (*install).to_owned());
    format!("{install}; if it is installed, give its whole path in 'command', since PATH may differ here")
}

/// What helps against what a server said last. `section` is where its settings are.
pub(super) fn of_words(words: &str, section: &str) -> String {
    let words = words.to_ascii_lowercase();
    let known = WORDS.iter().find(|(signs, _)| signs.iter().any(|sign| words.contains(sign)));
    match known {
        Some((_, help)) => format!("{help} (in {section})"),
        None => {
            format!("run its command by hand and read what it says; correct 'args' or 'env' in {section}")
        }
    }
}

/// What helps where nobody answers.
pub(super) fn of_connection(why: &str) -> String {
    let why = why.to_ascii_lowercase();
    let help = if why.contains("refused") {
        "start the server, or correct host and port in 'url'"
    } else if why.contains("dns") || why.contains("lookup") || why.contains("resolve") {
        "correct the host in 'url', or look at the network connection"
    } else if why.contains("certificate") || why.contains("tls") {
        "the server's certificate is not trusted here: correct 'url', or have its certificate mended"
    } else {
        "correct 'url', or look at the network connection and the proxy"
    };
    help.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_programs_are_told_how_to_get() {
        for (program, word) in [
            ("npx", "Node.js"),
            ("npx.cmd", "Node.js"),
            ("uvx", "install uv"),
            ("docker", "Docker"),
            ("python3", "Python"),
            ("my-server", "install 'my-server'"),
            ("/opt/x/my-server", "correct the path"),
        ] {
            assert!(of_missing(program).contains(word), "{program}: {}", of_missing(program));
        }
    }

    #[test]
    fn last_words_lead_to_help() {
        for (words, help) in [
            ("npm error 404 Not Found - GET https://registry.example/x", "package's name"),
            ("Cannot connect to the Docker daemon", "start Docker"),
            ("ModuleNotFoundError: No module named 'mcp'", "not installed"),
            ("Error: GITHUB_TOKEN environment variable is not set", "under 'env'"),
            ("server.py: error: unrecognized arguments: --x; usage: server.py", "correct 'args'"),
            ("Segmentation fault", "by hand"),
        ] {
            let told = of_words(words, "'[upstream.x]'");
            assert!(told.contains(help), "{words}: {told}");
        }
        assert!(
            of_connection("no connection could be made: Connection refused (os error 111)").contains("start")
        );
        assert!(of_connection("dns error").contains("host"));
    }
}
