# Django: takes an order, rolls one back, and takes three at once. Arguments: the sample, a URL of libpq's.
import sys, types, urllib.parse

import django
from django.conf import settings

sample, url = sys.argv[1], urllib.parse.urlparse(sys.argv[2])
shop = types.ModuleType("shop")
shop.__path__ = []
shop.__file__ = __file__
sys.modules["shop"] = shop
settings.configure(
    INSTALLED_APPS=["shop"],
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "HOST": url.hostname, "PORT": url.port,
                           "USER": url.username, "PASSWORD": url.password, "NAME": url.path[1:]}},
)
django.setup()
from django.db import models, transaction

shop.models = sys.modules["shop.models"] = types.ModuleType("shop.models")


class Order(models.Model):
    total = models.IntegerField()

    class Meta:
        app_label = "shop"
        managed = False
        db_table = 'shop"."orders'


shop.models.Order = Order
space = {"__name__": "shop.models"}
exec(compile(open(sample).read(), sample, "exec"), space)
Event = space["Event"]

space["take_order"](10)
try:
    with transaction.atomic():
        space["take_order"](11)
        raise LookupError
except LookupError:
    pass
with transaction.atomic():
    orders = Order.objects.bulk_create(Order(total=n) for n in (12, 13, 14))
    Event.objects.bulk_create(
        Event(aggregate_type="order", aggregate_id=one.id, event_type="order.created",
              payload={"id": one.id, "total": one.total}) for one in orders)
