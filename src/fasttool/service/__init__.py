"""AI services: an interface of yours, served by a model with tools."""

from fasttool.service.interface import ai_service

__all__ = ["ai_service"]
