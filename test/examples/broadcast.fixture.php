<?php

/**
 * Broadcasts by Laravel as its app would, with the files of examples/laravel, and prints what Laravel hands to the library of Pusher.
 * Arguments: the code to run, with `$userId` and `$order`, and the X-Socket-ID of the request, if it has one.
 */

namespace Pusher {
    class ApiErrorException extends \Exception {}

    class Pusher
    {
        public function __construct(public string $key, public string $secret, public string $appId, public array $options) {}

        public function trigger(array $channels, string $event, array $data, array $params): void
        {
            echo json_encode([
                'options' => $this->options, 'channels' => $channels, 'event' => $event,
                'data' => $data, 'params' => (object) $params,
            ]), "\n";
        }
    }
}

namespace {
    // Debian's Laravel is older than its PHP.
    error_reporting(E_ALL & ~E_DEPRECATED);

    function env(string $name, mixed $otherwise = null): mixed
    {
        return getenv($name) === false ? $otherwise : getenv($name);
    }

    require 'Illuminate/Broadcasting/autoload.php';
    require 'Illuminate/Events/autoload.php';

    [, $code, $socketId] = [...$argv, null];
    $example = dirname(__DIR__, 2) . '/examples/laravel';
    require "$example/app/Events/OrderShipped.php";

    $app = new Illuminate\Container\Container;
    Illuminate\Container\Container::setInstance($app);
    Illuminate\Support\Facades\Facade::setFacadeApplication($app);
    $manager = new Illuminate\Broadcasting\BroadcastManager($app);
    $app->instance(Illuminate\Contracts\Broadcasting\Factory::class, $manager);
    $app->instance('events', new Illuminate\Events\Dispatcher($app));

    $settings = require "$example/config/broadcasting.php";
    $app->instance('config', [
        'broadcasting.default' => $settings['default'],
        'broadcasting.connections.pusher' => $settings['connections']['pusher'],
    ]);
    $app->instance('request', new class($socketId) {
        public function __construct(private ?string $socketId) {}

        public function header(string $name): ?string
        {
            return $name === 'X-Socket-ID' ? $this->socketId : null;
        }
    });
    // A queue writes each job down before a worker takes it.
    $app->instance('queue', new class($manager) {
        public function __construct(private Illuminate\Broadcasting\BroadcastManager $manager) {}

        public function connection(): static
        {
            return $this;
        }

        public function pushOn(?string $queue, object $job): void
        {
            unserialize(serialize($job))->handle($this->manager);
        }
    });

    function broadcast(object $event): Illuminate\Broadcasting\PendingBroadcast
    {
        return app(Illuminate\Contracts\Broadcasting\Factory::class)->event($event);
    }

    function app(string $name): object
    {
        return Illuminate\Container\Container::getInstance()->make($name);
    }

    [$userId, $order] = [7, 17];
    eval("use App\\Events\\OrderShipped; $code");
}
