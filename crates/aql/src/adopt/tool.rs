//! One tool, or one deed of a tool that does several, becomes one operation.

use serde_json::{Map, Value};

use super::{
    Operation, Options, Param, describe,
    maker::{At, Maker, Named, Naming},
    names,
    types::Types,
    update,
    warning::{self, Code, Severity, Warning},
    wiring::Wiring,
};
use crate::{
    category::Category,
    classify,
    danger::Danger,
    define,
    listed::ListedTool,
    schema::{
        kinds::Kinds,
        node::{Object, Openness},
        read::Reader,
    },
    shared,
};

/// Names that mean something else wherever parameters stand.
pub(crate) const RESERVED_PARAMS: [&str; 4] =
    ["operation", "operations", "params", shared::CONFIRMATION_TOKEN];
/// Where arguments of any name go, if the upstream takes such.
const OTHERS: &str = "additional_params";
const INPUT_SCHEMA: &str = "inputSchema";

/// Makes one operation.
pub(super) fn operation(
    tool: &ListedTool,
    judged: classify::Operation,
    options: &Options<'_>,
    types: &mut Types<'_>,
) -> (Operation, Vec<Warning>) {
    let mut warnings = Vec::new();
    let name = name(tool, &judged, options, types, &mut warnings);
    let category = judged.judgement.category;
    let prefix = names::pascal_case(&[options.prefix]);
    let prefix = if options.prefix.is_empty() { "" } else { prefix.as_str() };
    let type_name = names::pascal_case(&[&name]);
    let mut maker =
        Maker::new(Reader::new(&tool.input_schema, INPUT_SCHEMA), types, Naming::Ours, prefix, &tool.name);
    let object = parameters(&mut maker, judged.choice.as_ref());
    let open = matches!(object.open, Openness::Open | Openness::Either);
    let named = in_order(named(&mut maker, object, category), &tool.input_schema);
    let inside = match category {
        Category::Update => update::inside(&named),
        _ => vec![false; named.len()],
    };

    let mut params = Vec::new();
    for (named, inside_input) in named.iter().zip(inside) {
        let made = maker.field(named, At { path: "", type_name: &type_name, depth: 1 });
        maker.wire(0, named, made.inner);
        params.push(Param {
            definition: define::Param { required: named.required, ..made.param },
            original_name: named.original.to_owned(),
            source_path: named.said.path().unwrap_or(INPUT_SCHEMA).to_owned(),
            inside_input,
        });
    }
    let others = open.then(|| others(&params));
    let Maker { wires, warnings: told, .. } = maker;
    warnings.extend(told);

    let description = describe::operation(tool, &judged, options.server);
    let mut definition = define::Operation::new(category, &name, &description);
    definition.server = Some(options.server.to_owned());
    definition.prefix = options.prefix.to_owned();
    let found = judged.judgement.evidence.iter().map(|evidence| evidence.says.clone()).collect();
    let mut danger = Danger::worked_out(judged.judgement.danger, found);
    danger.explicit = judged.judgement.danger_from == classify::Provenance::ManualOverride;
    if let Some(given) = options.overrides.of(&tool.name, &judged.name) {
        danger.follow(&given.words);
    }
    definition.danger = Some(danger);
    let (within, beside): (Vec<&Param>, Vec<&Param>) = params.iter().partition(|param| param.inside_input);
    definition.params = beside.into_iter().map(|param| param.definition.clone()).collect();
    if category == Category::Update {
        definition.params.push(input(within, &type_name, tool, types));
    }
    definition.params.extend(others.clone());
    definition.returns = returns(tool, &type_name, prefix, types);
    let definition = definition.queried_as_returned();

    if judged.judgement.needs_review() {
        let message = format!("'{name}' should be looked at: {}", judged.judgement.reasons.join("; "));
        warnings.push(warning_of(tool, Code::NeedsReview, Severity::Warning, message));
    }
    let fixed: Map<String, Value> =
        judged.choice.iter().map(|choice| (choice.parameter.clone(), choice.value.clone().into())).collect();
    let wiring = Wiring::new(wires, fixed, category == Category::Update, others.map(|param| param.name));
    (Operation { definition, tool: tool.name.clone(), wiring, judged, params }, warnings)
}

fn warning_of(tool: &ListedTool, code: Code, severity: Severity, message: String) -> Warning {
    Warning { code, severity, message, tool: Some(tool.name.clone()), param: None }
}

fn name(
    tool: &ListedTool,
    judged: &classify::Operation,
    options: &Options<'_>,
    types: &mut Types<'_>,
    warnings: &mut Vec<Warning>,
) -> String {
    let wanted = names::operation(options.prefix, &judged.name);
    let name = types.taken.operation(&wanted);
    if name != wanted {
        let message = format!("the name '{wanted}' is taken, so this operation is called '{name}'");
        warnings.push(warning_of(tool, Code::NameClash, Severity::Warning, message));
    }
    let letters =
        |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    if !tool.name.is_ascii() || !letters(&wanted).contains(&letters(&tool.name)) || tool.name.is_empty() {
        let message = format!("the tool's name cannot be an operation's; it is called '{name}'");
        warnings.push(warning_of(tool, Code::Renamed, Severity::Info, message));
    }
    name
}

/// The object that holds the parameters, without the one that is fixed.
fn parameters<'a>(maker: &mut Maker<'a, '_, '_>, choice: Option<&classify::Choice>) -> Object<'a> {
    let root = maker.reader.root();
    let node = maker.reader.node(&root);
    for loss in &node.losses {
        let (code, severity) = warning::judged(loss);
        maker.warn(code, severity, format!("of all parameters together: {loss}"), None);
    }
    if !node.kinds.meets(Kinds::OBJECT) {
        let message = "the input is said to be no object, so the operation takes no parameters".to_owned();
        maker.warn(Code::UnsupportedShape, Severity::Error, message, None);
        return Object::default();
    }
    let mut object = node.object;
    if let Some(choice) = choice {
        object.fields.remove(choice.parameter.as_str());
        object.required.remove(choice.parameter.as_str());
    }
    object
}

fn named<'a>(maker: &mut Maker<'a, '_, '_>, object: Object<'a>, category: Category) -> Vec<Named<'a>> {
    let mut reserved = RESERVED_PARAMS.to_vec();
    if category == Category::Update {
        reserved.push(shared::INPUT);
    }
    let named = maker.named(object, "param", &reserved);
    for param in &named {
        if param.outer != names::snake_case(param.original, "param") || !param.original.is_ascii() {
            let message = format!("'{}' is called '{}' here", param.original, param.outer);
            maker.warn(Code::Renamed, Severity::Info, message, Some(&param.outer));
        }
    }
    named
}

/// Required parameters first, in the order the upstream requires them.
fn in_order<'a>(mut named: Vec<Named<'a>>, schema: &Map<String, Value>) -> Vec<Named<'a>> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    named.sort_by_key(|param| {
        let place = required.iter().position(|name| *name == param.original).unwrap_or(usize::MAX);
        (!param.required, place)
    });
    named
}

/// The parameter for arguments of any name.
fn others(params: &[Param]) -> define::Param {
    let mut name = OTHERS.to_owned();
    while params.iter().any(|param| param.definition.name == name) {
        name.push_str("_2");
    }
    define::Param::new(&name, "object", "Further arguments, passed on by the names they have here")
}

/// The `input` of an UPDATE, which must be given where something in it must. Without fields it is still there, as the
/// protocol wants it.
fn input(within: Vec<&Param>, type_name: &str, tool: &ListedTool, types: &mut Types<'_>) -> define::Param {
    let fields: Vec<define::Param> = within.into_iter().map(|param| param.definition.clone()).collect();
    if fields.is_empty() {
        return empty_input();
    }
    let required = fields.iter().any(|field| field.required);
    let name = types.reserve(&names::pascal_case(&[type_name, "input"]));
    let name = types.declare(name, &format!("What '{}' takes as input", tool.name), fields);
    define::Param { required, ..define::Param::new(shared::INPUT, &name, "What to change") }
}

/// An `input` that holds nothing.
pub(crate) fn empty_input() -> define::Param {
    define::Param::new(shared::INPUT, "object", "Nothing to give here")
}

fn returns(tool: &ListedTool, type_name: &str, prefix: &str, types: &mut Types<'_>) -> define::Returns {
    // Where the server says nothing of its answer, neither do we: hundreds of descriptions would only repeat the name.
    let anything = || define::Returns { type_name: "Json".to_owned(), description: String::new() };
    let Some(schema) = &tool.output_schema else { return anything() };
    let mut maker =
        Maker::new(Reader::new(schema, "outputSchema"), types, Naming::Theirs, prefix, &tool.name);
    let said = maker.reader.root();
    let node = maker.reader.node(&said);
    if node.object.fields.is_empty() || !node.kinds.meets(Kinds::OBJECT) {
        return anything();
    }
    let description = node.description.clone().unwrap_or_default();
    let result = names::pascal_case(&[type_name, "result"]);
    let (type_name, _) =
        maker.record(node.object, node.definition, At { path: "", type_name: &result, depth: 1 });
    define::Returns { type_name, description }
}
