use clap::CommandFactory;

use super::*;

fn parse(line: &str) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(line.split(' ').map(OsString::from).map(spell_out))
}

#[test]
fn the_commands_are_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn pulsars_spellings_are_taken() {
    for line in [
        "plerion standalone",
        "plerion standalone -nfw -nss",
        "plerion standalone --no-functions-worker --no-stream-storage --wipe-data",
        "plerion standalone -a broker.example -c standalone.conf",
        "plerion standalone --advertised-address broker.example --config standalone.conf",
    ] {
        assert!(parse(line).is_ok(), "{line}");
    }
    assert!(parse("plerion standalone -nope").is_err());
}

#[test]
fn settings_repeat_and_the_rest_has_defaults() {
    let Verb::Standalone(options) = parse("plerion standalone --set a=1 --set b=2").expect("valid").verb else {
        panic!("another verb");
    };
    assert_eq!(options.set, ["a=1", "b=2"]);
    assert_eq!(options.log_format, LogFormat::Text);
    assert_eq!(options.wipe(), Wipe::Nothing);
}

#[test]
fn help_says_where_settings_come_from_and_how_the_process_ends() {
    let help = parse("plerion standalone --help").expect_err("help").to_string();
    for part in ["PLERION_<key>", "listenOffLoopback=true", "PLERION_LOG", "Exit codes:"] {
        assert!(help.contains(part), "{part} is not in\n{help}");
    }
}
