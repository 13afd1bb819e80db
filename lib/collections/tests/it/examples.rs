//! The example programs, which check themselves.

#[path = "../../examples/connections.rs"]
mod connections;

#[test]
fn connections_are_closed_once_after_their_last_request() {
    connections::main();
}
