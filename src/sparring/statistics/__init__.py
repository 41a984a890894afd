"""Statistics of a run: aggregation of values, writers, timers. Imports neither torch nor tensorboard."""

from sparring.statistics._hyperparameters import hyperparameter_text
from sparring.statistics.aggregation import Aggregation, Summary
from sparring.statistics.definitions import definition
from sparring.statistics.gauge_writer import GaugeWriter
from sparring.statistics.histogram import Histogram
from sparring.statistics.progress import Progress, SilentWindows, summary_due
from sparring.statistics.statistics import Statistics
from sparring.statistics.timers import Timers
from sparring.statistics.writer import Writer, WriterFactory, available_writers, check_writers, load_writers

__all__ = [
    "Aggregation",
    "GaugeWriter",
    "Histogram",
    "Progress",
    "SilentWindows",
    "Statistics",
    "Summary",
    "Timers",
    "Writer",
    "WriterFactory",
    "available_writers",
    "check_writers",
    "definition",
    "hyperparameter_text",
    "load_writers",
    "summary_due",
]
