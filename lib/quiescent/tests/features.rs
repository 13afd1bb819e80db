//! Reports of stalls once more, with the features on that are off by default: `.ci/run`.

mod common;

mod it {
    mod stalls;
}
