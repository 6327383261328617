//! The plot as an SVG.

use std::error::Error;
use std::path::Path;

use azure_table_client::Operation;
use plotters::prelude::*;

use super::{Point, ms};

/// Plots the duration of each request by its end, on a logarithmic scale from 1 ms to 1 s.
pub(super) fn write(
    points: &[Point],
    operations: &[Operation],
    path: &Path,
) -> Result<(), Box<dyn Error>> {
    let (mut least, mut most, mut end) = (f64::INFINITY, 0.0_f64, 0.0_f64);
    for point in points {
        (least, most) = (least.min(ms(point.took)), most.max(ms(point.took)));
        end = end.max(ms(point.at));
    }
    let area = SVGBackend::new(path, (960, 540)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .caption("Latencies of requests", ("sans-serif", 22))
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..end * 1.02, (least * 0.8..most * 9.0).log_scale())?;
    chart.configure_mesh().x_desc("ms since the start").y_desc("ms").draw()?;
    for (index, operation) in operations.iter().enumerate() {
        let color = Palette99::pick(index).to_rgba();
        let of_it = || points.iter().filter(|point| point.operation == *operation);
        let at = |point: &Point| (ms(point.at), ms(point.took));
        let done = of_it().filter(|point| point.is_done);
        chart
            .draw_series(done.map(|point| Circle::new(at(point), 2, color.filled())))?
            .label(operation.as_str())
            .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 12, y + 4)], color.filled()));
        let refused = of_it().filter(|point| !point.is_done);
        chart.draw_series(refused.map(|point| Cross::new(at(point), 5, color)))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .border_style(BLACK)
        .draw()?;
    area.present()?;
    Ok(())
}
