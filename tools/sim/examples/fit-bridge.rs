//! Goes over the grid of the experiment `bridge`, and prints the points that come nearest to the four
//! published figures of its *default* variant. The other variants are not run.
//!
//! ```sh
//! cargo run --release -p quiescent-sim --example fit-bridge
//! ```

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use quiescent_sim::experiments::bridge::{self, Figures};

fn main() {
    let (grid, published) = (bridge::grid(), Figures::published());
    let next = AtomicUsize::new(0);
    let (found, results) = mpsc::channel();
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (found, next, grid) = (found.clone(), &next, &grid);
            scope.spawn(move || {
                while let Some(point) = grid.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let figures = bridge::default_at(point);
                    found
                        .send((figures.distance(&published), figures, point))
                        .expect("it is received");
                }
            });
        }
    });
    drop(found);
    let mut all: Vec<_> = results.into_iter().collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(b.2)));
    println!("{} points; published: {}", grid.len(), line(&published));
    for (distance, figures, point) in all.iter().take(10) {
        let point: Vec<String> = point
            .iter()
            .map(|it| format!("{}={}", it.0, it.1))
            .collect();
        println!("{distance:.3}  {}  {}", line(figures), point.join(" "));
    }
}

fn line(it: &Figures) -> String {
    format!(
        "median {:.1} ms, least {:.1}, longest {:.1}, total {:.1} s",
        it.median_ms, it.min_ms, it.max_ms, it.total_s
    )
}
