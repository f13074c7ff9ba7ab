//! Turns the protocol definition into Rust: the types, conversions of command bodies into commands, and the table of
//! required fields that prost does not enforce.
#![allow(clippy::print_stdout, reason = "build scripts speak to cargo through stdout")]

use std::{collections::HashMap, env, error::Error, fmt::Write as _, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let files = protox::compile(["proto/PulsarApi.proto"], ["proto"])?;
    let messages: Vec<_> = files.file.iter().flat_map(|file| &file.message_type).collect();
    let index: HashMap<String, usize> =
        messages.iter().enumerate().map(|(at, message)| (format!(".pulsar.proto.{}", message.name()), at)).collect();

    let mut config = prost_build::Config::new();
    config.bytes(["."]);
    let mut conversions = String::new();
    let mut rules = String::from("static RULES: &[Rule] = &[\n");
    for message in &messages {
        let (mut required, mut nested) = (String::new(), String::new());
        for field in &message.field {
            if field.label() as i32 == LABEL_REQUIRED {
                write!(required, "({}, \"{}.{}\"), ", field.number(), message.name(), field.name())?;
            }
            if let Some(at) = index.get(field.type_name()) {
                write!(nested, "({}, {at}), ", field.number())?;
                if message.name() == "BaseCommand" {
                    config.boxed(format!(".pulsar.proto.BaseCommand.{}", field.name()));
                    let body = field.type_name().trim_start_matches(".pulsar.proto.");
                    let (name, number) = (snake_case(field.name()), field.number());
                    writeln!(
                        conversions,
                        "impl From<{body}> for BaseCommand {{ fn from(body: {body}) -> Self {{ \
                         Self {{ r#type: {number}, {name}: Some(Box::new(body)), ..Self::default() }} }} }}"
                    )?;
                }
            }
        }
        writeln!(rules, "Rule {{ required: &[{required}], nested: &[{nested}] }},")?;
    }
    rules.push_str("];\n");
    for name in ["BaseCommand", "MessageMetadata"] {
        let at = index[&format!(".pulsar.proto.{name}")];
        writeln!(rules, "const {}: usize = {at};", snake_case(name).to_uppercase())?;
    }

    config.compile_fds(files)?;
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("conversions.rs"), conversions)?;
    fs::write(Path::new(&out).join("rules.rs"), rules)?;
    Ok(())
}

/// `FieldDescriptorProto.Label.LABEL_REQUIRED`.
const LABEL_REQUIRED: i32 = 2;

/// prost's spelling of a field's name.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}
