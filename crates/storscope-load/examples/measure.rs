//! Runs one workload on one target and prints the result as JSON, for comparison with other tools.
//!
//! ```text
//! measure PLAN.json      run a plan as it stands (`-` reads standard input)
//! measure --quick TARGET SIZE_BYTES OUTSTANDING SECONDS [READ_SHARE] [buffered] [threads]
//! ```
//! TARGET is a path, `null` or `nop`. The second form reads at random, or writes as READ_SHARE says.

use std::process::ExitCode;
use std::time::Duration;

use storscope_load::{Engine, News, Plan, Run, RunResult, TargetSpec};
use storscope_types::{Access, AccessSpec, Bytes, Load, Nanos, Stream, Workload};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match plan_from(&arguments).and_then(|plan| measure(plan).map_err(|error| error.to_string())) {
        Ok(result) => {
            println!("{}", summary(&result));
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("measure: {message}");
            ExitCode::FAILURE
        }
    }
}

fn plan_from(arguments: &[String]) -> Result<Plan, String> {
    match arguments {
        [path] => {
            let text =
                if path == "-" { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(path) };
            serde_json::from_str(&text.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
        }
        [flag, target, size, outstanding, seconds, options @ ..] if flag == "--quick" => {
            quick_plan(target, number(size)?, number(outstanding)? as u32, number(seconds)?, options)
        }
        _ => Err("expected PLAN.json or --quick TARGET SIZE_BYTES OUTSTANDING SECONDS ...".to_owned()),
    }
}

fn quick_plan(target: &str, size: u64, outstanding: u32, seconds: u64, options: &[String]) -> Result<Plan, String> {
    let has = |word: &str| options.iter().any(|option| option == word);
    let read_share = options.iter().find_map(|option| option.parse().ok()).unwrap_or(1.0);
    let line = AccessSpec { read_share, ..AccessSpec::random_read(Bytes(size)) };
    let stream = Stream::new(Access::Mix { lines: vec![line] }, Load::Closed { outstanding });
    let size_bytes = Bytes(1 << 30);
    let target = match target {
        "null" => TargetSpec::Null { size_bytes },
        "nop" => TargetSpec::Nop { size_bytes },
        path => TargetSpec::Path { path: path.into(), direct: !has("buffered") },
    };
    Ok(Plan {
        workload: Workload::of("quick", stream),
        targets: vec![target],
        engine: if has("threads") { Engine::Threads } else { Engine::Auto },
        seed: 1,
        duration: Some(Nanos(seconds * 1_000_000_000)),
        max_ios_per_worker: None,
        max_bytes_per_worker: None,
        interval: Nanos::SECOND,
        max_failures: 0,
        held: false,
    })
}

fn measure(plan: Plan) -> Result<RunResult, storscope_load::LoadError> {
    let mut run = Run::start(plan)?;
    loop {
        match run.next(Duration::from_millis(500)) {
            News::Interval(interval) => eprintln!("{} {} I/Os", interval.index, interval.ios()),
            News::Pending => {}
            News::Finished => break,
        }
    }
    let finished = run.finish();
    finished.error.map_or(Ok(finished.result), Err)
}

/// Figures per I/O and a few quantiles; the result itself has everything.
fn summary(result: &RunResult) -> serde_json::Value {
    let all = result.total.all();
    let per_io = |nanos: Nanos| nanos.0 as f64 / all.ios as f64;
    let quantiles = |histogram: &storscope_stats::Histogram| {
        serde_json::json!({"mean_ns": histogram.mean(), "p50_ns": histogram.quantile(0.5),
            "p99_ns": histogram.quantile(0.99), "p999_ns": histogram.quantile(0.999), "max_ns": histogram.max()})
    };
    serde_json::json!({
        "iops": all.ios as f64 / result.total.duration.as_secs_f64(),
        "bytes_per_s": all.bytes as f64 / result.total.duration.as_secs_f64(),
        "response": quantiles(&all.response), "service": quantiles(&all.service), "lateness": quantiles(&all.lateness),
        "outstanding_mean": result.total.outstanding_mean,
        "worker_cpu_ns_per_io": per_io(result.total.usage.cpu()),
        "worker_user_ns_per_io": per_io(result.total.usage.user),
        "process_cpu_ns_per_io": per_io(result.process_usage.cpu()),
        "switches_per_io": (result.process_usage.voluntary_switches + result.process_usage.involuntary_switches) as f64
            / all.ios as f64,
        "ending": result.ending, "engines": result.engines, "clock": result.clock, "valid": result.valid,
        "doubts": result.doubts, "explained": result.doubts.iter().map(|doubt| doubt.explain()).collect::<Vec<_>>(),
    })
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a number, found {text}"))
}
