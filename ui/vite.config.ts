import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

/** Files are compressed once, here, so that the server that embeds them has nothing to do. */
function compressed(): Plugin {
  let out = "";
  return {
    name: "compressed",
    apply: "build",
    configResolved(config) {
      out = config.build.outDir;
    },
    closeBundle() {
      for (const file of filesBelow(out).filter((file) => /\.(js|css|html|svg)$/.test(file))) {
        const bytes = readFileSync(file);
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
        const quality = { [constants.BROTLI_PARAM_QUALITY]: 11 };
        writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params: quality }));
      }
    },
  };
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

/** Where a gateway listens for `npm run dev`. */
const gateway = process.env["AQUEDUCT_OPERATOR"] ?? "http://127.0.0.1:7172";

export default defineConfig({
  plugins: [compressed()],
  build: {
    target: "es2022",
    emptyOutDir: true,
    // Nothing may be inlined: the page is only allowed to load files of its own server.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: true,
  },
  worker: { format: "es" },
  server: {
    proxy: { "/api": { target: gateway, changeOrigin: true, headers: { origin: gateway } } },
  },
});
