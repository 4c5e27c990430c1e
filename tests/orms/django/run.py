# Django: takes an order, rolls one back, and takes three at once; or consumes. Arguments: produce or consume, a
# URL of libpq's.
import sys, urllib.parse

import django
from django.conf import settings

url = urllib.parse.urlparse(sys.argv[2])
settings.configure(
    INSTALLED_APPS=["shop"],
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "HOST": url.hostname, "PORT": url.port,
                           "USER": url.username, "PASSWORD": url.password, "NAME": url.path[1:]}},
)
django.setup()
from django.db import transaction

from shop.consumer import consume
from shop.events import Event, take_order
from shop.models import Order

if sys.argv[1] == "consume":
    consume()

take_order(10)
try:
    with transaction.atomic():
        take_order(11)
        raise LookupError
except LookupError:
    pass
with transaction.atomic():
    orders = Order.objects.bulk_create(Order(total=n) for n in (12, 13, 14))
    Event.objects.bulk_create(
        Event(aggregate_type="order", aggregate_id=one.id, event_type="order.created",
              payload={"id": one.id, "total": one.total}) for one in orders)
