//! Examples with other libraries: axum, OpenTelemetry, plotters, CSV files and Microsoft Entra ID.
