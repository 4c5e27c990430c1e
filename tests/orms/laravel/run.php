<?php

// Laravel's database component: takes an order, rolls one back, and takes three at once; or consumes. Arguments:
// produce or consume, a URL of libpq's.
require_once 'Illuminate/Database/autoload.php';
require_once 'PhpAmqpLib/autoload.php';
require_once __DIR__ . '/events.php';
require_once __DIR__ . '/consumer.php';

use Illuminate\Container\Container;
use Illuminate\Database\Capsule\Manager;
use Illuminate\Support\Facades\DB;
use Illuminate\Support\Facades\Facade;

$url = parse_url($argv[2]);
$manager = new Manager();
$manager->addConnection([
    'driver' => 'pgsql',
    'host' => $url['host'],
    'port' => $url['port'],
    'database' => substr($url['path'], 1),
    'username' => $url['user'],
    'password' => $url['pass'],
    'charset' => 'utf8',
]);
$container = new Container();
$container->instance('db', $manager->getDatabaseManager());
Facade::setFacadeApplication($container);

if ($argv[1] === 'consume') {
    consume();
    exit;
}

takeOrder(10);
try {
    DB::transaction(function () {
        takeOrder(11);
        throw new LogicException('rolled back');
    });
} catch (LogicException $expected) {
}
DB::transaction(function () {
    foreach ([12, 13, 14] as $total) {
        takeOrder($total);
    }
});
