//! Tests in processes of their own: those that fork, change options of the process, or count what all threads
//! do.

use std::process::Command;

/// Runs `body` in a process of its own: this program once more, for the running test only.
pub fn alone(body: impl FnOnce()) {
    const CHILD: &str = "QUIESCENT_TEST_CHILD";
    let name = std::thread::current()
        .name()
        .expect("libtest names it")
        .to_owned();
    if std::env::var(CHILD).is_ok_and(|test| test == name) {
        return body();
    }
    let program = std::env::current_exe().expect("the path of this program");
    let mut child = Command::new(program);
    child.args(["--exact", &name, "--nocapture"]);
    let output = child.env(CHILD, &name).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{text}", output.status);
}
