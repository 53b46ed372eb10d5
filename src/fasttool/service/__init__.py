"""Services: an interface of yours becomes an object that talks to a model with tools."""

from fasttool.service.interface import ai_service
from fasttool.service.markers import (
    MemoryId,
    RequestParameters,
    RetrievedContent,
    UserName,
    UserText,
    system_message,
    user_message,
)

__all__ = [
    "MemoryId",
    "RequestParameters",
    "RetrievedContent",
    "UserName",
    "UserText",
    "ai_service",
    "system_message",
    "user_message",
]
