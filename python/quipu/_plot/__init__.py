"""Pictures of small graphs and neighbourhoods: ``quipu.plot``."""

from ._picture import Picture, plot

__all__ = ["Picture", "plot"]
