#![doc = include_str!("../docs/troubleshooting.md")]
