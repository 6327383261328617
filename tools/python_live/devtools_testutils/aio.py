"""The part of `devtools_testutils.aio` that the tests of `azure-data-tables` import."""

from devtools_testutils import recorded_by_proxy as recorded_by_proxy_async

__all__ = ["recorded_by_proxy_async"]
