//! Examples with other libraries: axum, OpenTelemetry, plotters, CSV files and Microsoft Entra ID.
//!
//! They are a package of their own, because these libraries would slow down the build of the quick start.
