//! Flags, variables and defaults as a user gives them.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::{collections::HashMap, num::NonZeroUsize, time::Duration};

use cne_settings::{
    Address, ByteSize, ExecutorSettings, Invocation, SchedulerSettings, Secret, SettingsError,
    ShuffleCompression, Value,
};

const REQUIRED: [(&str, &str); 2] = [
    ("CNE_TICKET_KEY", "a:00112233445566778899aabbccddeeff"),
    ("CNE_STORAGE_URL", "file:///tmp/x"),
];

fn executor(args: &[&str], env: &[(&str, &str)]) -> Result<ExecutorSettings, SettingsError> {
    let env: HashMap<&str, &str> = REQUIRED.iter().chain(env).copied().collect();
    match ExecutorSettings::from_args_and_env(args, env)? {
        Invocation::Run(settings) => Ok(settings),
        other => panic!("{other:?}"),
    }
}

fn scheduler(args: &[&str]) -> Result<SchedulerSettings, SettingsError> {
    match SchedulerSettings::from_args_and_env(args, REQUIRED)? {
        Invocation::Run(settings) => Ok(settings),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_flag_wins_over_a_variable_and_a_variable_over_the_default() {
    let settings = executor(&[], &[]).unwrap();
    assert_eq!(settings.memory_bytes, None);
    assert_eq!(settings.task_slots, None);
    assert_eq!(settings.shuffle_compression, ShuffleCompression::Lz4);
    let env = [("CNE_MEMORY_BYTES", "64MiB"), ("CNE_FILE_ROOTS", "/a, /b")];
    assert_eq!(
        executor(&[], &env).unwrap().memory_bytes,
        Some(ByteSize(64 << 20))
    );
    assert_eq!(executor(&[], &env).unwrap().file_roots, ["/a", "/b"]);
    let settings = executor(
        &["--memory-bytes=1000", "--task-slots", "3", "--allow-plaintext"],
        &env,
    )
    .unwrap();
    assert_eq!(settings.memory_bytes, Some(ByteSize(1000)));
    assert_eq!(settings.task_slots, NonZeroUsize::new(3));
    assert!(settings.allow_plaintext);
}

#[test]
fn versions_of_spark_are_exact() {
    let list = scheduler(&["--accepted-spark-versions", "4.1.1-amzn-0, 4.1.3.0"]).unwrap();
    assert_eq!(list.accepted_spark_versions, ["4.1.1-amzn-0", "4.1.3.0"]);
    for bad in ["4.1", "4.1.*", "4.1.x-amzn-0", "*", "amzn"] {
        let error = scheduler(&["--accepted-spark-versions", bad])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("CNE_ACCEPTED_SPARK_VERSIONS") && error.contains(bad),
            "{error}"
        );
    }
}

#[test]
fn what_is_unknown_is_named_with_its_nearest_neighbour() {
    let error = executor(&["--task-slot", "3"], &[]).unwrap_err().to_string();
    assert_eq!(error, "unknown flag --task-slot; did you mean --task-slots?");
    let error = executor(&[], &[("CNE_TASK_SLOT", "3")]).unwrap_err().to_string();
    assert_eq!(
        error,
        "unknown environment variable CNE_TASK_SLOT; did you mean CNE_TASK_SLOTS?"
    );
    let error = executor(&[], &[("CNE_WHATEVER_ELSE", "3")])
        .unwrap_err()
        .to_string();
    assert_eq!(error, "unknown environment variable CNE_WHATEVER_ELSE");
    // One role's flag is unknown to the other; its variable is not.
    assert!(matches!(
        executor(&["--max-stages", "3"], &[]),
        Err(SettingsError::UnknownFlag { .. })
    ));
    executor(&[], &[("CNE_MAX_STAGES", "3"), ("CNE_CACHE", "/x")]).unwrap();
    // Kubernetes sets these for a service called cne-scheduler.
    executor(
        &[],
        &[
            ("CNE_SCHEDULER_SERVICE_HOST", "10.0.0.1"),
            ("CNE_SCHEDULER_PORT_50050_TCP", "x"),
        ],
    )
    .unwrap();
}

#[test]
fn a_malformed_command_line_is_refused() {
    assert!(matches!(
        executor(&["task-slots"], &[]),
        Err(SettingsError::UnexpectedArgument { .. })
    ));
    assert!(matches!(
        executor(&["--task-slots"], &[]),
        Err(SettingsError::FlagWithoutValue { .. })
    ));
    let twice = ["--task-slots=1", "--task-slots=2"];
    assert!(matches!(
        executor(&twice, &[]),
        Err(SettingsError::RepeatedFlag { .. })
    ));
    let error = executor(&["--task-slots=0"], &[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "flag --task-slots: expected a whole number above 0, got \"0\""
    );
    let none: [(&str, &str); 0] = [];
    let error = SchedulerSettings::from_args_and_env([""; 0], none)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "CNE_TICKET_KEY is not set and has no default (flag --ticket-key-file)"
    );
}

#[test]
fn a_secret_comes_from_a_variable_or_a_file_and_is_never_shown() {
    let path = std::env::temp_dir().join(format!("cne-settings-{}", std::process::id()));
    std::fs::write(&path, "b:ffeeddccbbaa99887766554433221100\n").unwrap();
    let path_text = path.to_str().unwrap();
    let flag = executor(&["--ticket-key-file", path_text], &[]).unwrap();
    assert_eq!(flag.ticket_key, Secret::new("b:ffeeddccbbaa99887766554433221100"));
    assert!(!format!("{flag:?}").contains("ffeedd"));
    let both = executor(&[], &[("CNE_TICKET_KEY_FILE", path_text)]);
    assert!(matches!(
        both,
        Err(SettingsError::SecretTwice {
            env: "CNE_TICKET_KEY"
        })
    ));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(
        executor(&["--ticket-key-file", path_text], &[]),
        Err(SettingsError::SecretFile { .. })
    ));
    let shown = executor(&["--ticket-key=a:0011"], &[]).unwrap_err();
    assert!(matches!(shown, SettingsError::SecretAsFlag { .. }), "{shown}");
    assert!(matches!(
        executor(&["--storage-url-file", "x"], &[]),
        Err(SettingsError::UnknownFlag { .. })
    ));
}

#[test]
fn addresses_beyond_the_machine_need_permission() {
    let error = executor(&["--host", "10.0.0.7"], &[]).unwrap_err();
    assert!(
        matches!(error, SettingsError::Plaintext { env: "CNE_HOST", .. }),
        "{error}"
    );
    executor(&["--host", "10.0.0.7"], &[("CNE_ALLOW_PLAINTEXT", "true")]).unwrap();
    let error = executor(&["--executor-flight-address", "[::]:1"], &[]).unwrap_err();
    assert!(matches!(error, SettingsError::Plaintext { .. }), "{error}");
    executor(&["--executor-flight-address", "[::1]:1"], &[]).unwrap();
}

#[test]
fn addresses_for_probes_and_scalers_need_it_too_and_bounds_have_an_order() {
    for (flag, env) in [
        ("--scheduler-http-address", "CNE_SCHEDULER_HTTP_ADDRESS"),
        ("--scaler-address", "CNE_SCALER_ADDRESS"),
    ] {
        let error = scheduler(&[flag, "0.0.0.0:1"]).unwrap_err();
        assert!(
            matches!(error, SettingsError::Plaintext { env: found, .. } if found == env),
            "{error}"
        );
    }
    let error = executor(&["--executor-http-address", "0.0.0.0:1"], &[]).unwrap_err();
    assert!(matches!(error, SettingsError::Plaintext { .. }), "{error}");
    let error = scheduler(&["--scale-min-executors=3", "--scale-max-executors=2"]).unwrap_err();
    assert!(matches!(error, SettingsError::Contradiction(_)), "{error}");
}

const TLS: [(&str, &str); 3] = [
    ("CNE_TLS_CERT", "/c.pem"),
    ("CNE_TLS_KEY", "/k.pem"),
    ("CNE_TLS_CA", "/ca.pem"),
];

#[test]
fn certificates_open_addresses_beyond_the_machine_to_drivers_who_say_who_they_are() {
    let anywhere = ["--executor-flight-address", "0.0.0.0:1", "--host", "10.0.0.7"];
    let with = |more: &[(&str, &str)]| executor(&anywhere, &[&TLS, more].concat());
    let error = with(&[]).unwrap_err().to_string();
    assert!(error.contains("CNE_TENANTS_FILE"), "{error}");
    with(&[("CNE_TENANTS_FILE", "/t.toml")]).unwrap();
    let settings = with(&[("CNE_TLS_CLIENT_CA", "/d.pem")]).unwrap();
    assert_eq!(settings.security().client_ca, Some("/d.pem".into()));

    let error = executor(&[], &TLS[..2]).unwrap_err().to_string();
    assert!(error.contains("CNE_TLS_CA"), "{error}");
    let error = executor(&["--tls-server-name", "pool"], &[]).unwrap_err();
    assert!(matches!(error, SettingsError::Contradiction(_)), "{error}");

    // The scaler's port is plain unless it is asked for.
    let error = scheduler(&["--scaler-tls"]).unwrap_err();
    assert!(matches!(error, SettingsError::Contradiction(_)), "{error}");
    let args = [
        "--tls-cert=c",
        "--tls-key=k",
        "--tls-ca=a",
        "--scaler-address=0.0.0.0:1",
    ];
    let error = scheduler(&args).unwrap_err();
    assert!(matches!(error, SettingsError::Plaintext { .. }), "{error}");
    scheduler(&[&args[..], &["--scaler-tls"]].concat()).unwrap();
}

#[test]
fn help_names_every_setting_and_runs_nothing() {
    let none: [(&str, &str); 0] = [];
    let Invocation::Help(help) = ExecutorSettings::from_args_and_env(["--help"], none).unwrap() else {
        panic!("expected the help text");
    };
    for text in [
        "--task-slots <number above 0>",
        "CNE_TICKET_KEY_FILE",
        "[default: 16GiB]",
        "comet-executor health",
        "[required]",
    ] {
        assert!(help.contains(text), "{text} is missing in {help}");
    }
}

fn health(args: &[&str], env: &[(&str, &str)]) -> Result<String, SettingsError> {
    match ExecutorSettings::from_args_and_env(args, env.iter().copied())? {
        Invocation::Health(address) => Ok(address.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn health_needs_the_address_and_nothing_else() {
    // Not even what a process needs to start, and no secret file.
    let env = [
        ("CNE_EXECUTOR_HTTP_ADDRESS", "0.0.0.0:7000"),
        ("CNE_TICKET_KEY_FILE", "/not/there"),
        ("CNE_TASK_SLOTS", "none"),
    ];
    assert_eq!(health(&["health"], &env).unwrap(), "0.0.0.0:7000");
    let flag = ["health", "--executor-http-address", "[::1]:7001"];
    assert_eq!(health(&flag, &env).unwrap(), "[::1]:7001");
    let error = health(&["health"], &[]).unwrap_err().to_string();
    assert!(
        error.starts_with("CNE_EXECUTOR_HTTP_ADDRESS has port 0"),
        "{error}"
    );
    let other = health(&["health", "--task-slots=1"], &env);
    assert!(matches!(other, Err(SettingsError::UnknownFlag { .. })));
    let wrong = health(&["health"], &[("CNE_EXECUTOR_HTTP_ADDRESS", "x")]);
    assert!(matches!(wrong, Err(SettingsError::Invalid { .. })));
    let none: [(&str, &str); 0] = [];
    let default = SchedulerSettings::from_args_and_env(["health"], none).unwrap();
    assert!(matches!(default, Invocation::Health(address) if address.port == 50053));
}

#[test]
fn values_are_read_as_documented() {
    assert_eq!(Duration::parse("1500ms"), Ok(Duration::from_millis(1500)));
    assert_eq!(Duration::parse("2h"), Ok(Duration::from_secs(7200)));
    assert!(Duration::parse("30").is_err() && Duration::parse("-1s").is_err());
    assert_eq!(ByteSize::parse("3GiB"), Ok(ByteSize(3 << 30)));
    assert!(ByteSize::parse("3GB").is_err() && ByteSize::parse("99999999999TiB").is_err());
    let address = Address::parse("http://[::1]:80").unwrap();
    assert_eq!(
        (address.host.as_str(), address.to_string().as_str()),
        ("::1", "[::1]:80")
    );
    for wrong in [
        "host",
        "host:",
        ":80",
        "::1:80",
        "https://host:80",
        "host:70000",
        "a/b:1",
        "[host]:1",
    ] {
        assert!(Address::parse(wrong).is_err(), "{wrong}");
    }
}
