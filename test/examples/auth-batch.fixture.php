<?php

/**
 * Serves the endpoint for Laravel of docs/use/authorization.md, whose code is in the file `AUTH_BATCH`, with the broadcasting of Laravel
 * itself. Run by `php -S`. `APP_KEY` and `APP_SECRET` are those of the app.
 */

namespace Symfony\Component\HttpKernel\Exception {
    class AccessDeniedHttpException extends \Exception {}
}

namespace Pusher {
    class ApiErrorException extends \Exception {}

    /** What Laravel uses of the library of Pusher. */
    class Pusher
    {
        public function __construct(private string $key, private string $secret) {}

        public function socket_auth(string $channel, string $socketId, ?string $data = null): string
        {
            $signed = "$socketId:$channel" . ($data === null ? '' : ":$data");
            $auth = $this->key . ':' . hash_hmac('sha256', $signed, $this->secret);

            return json_encode(['auth' => $auth] + ($data === null ? [] : ['channel_data' => $data]));
        }

        public function presence_auth(string $channel, string $socketId, string $userId, mixed $info = null): string
        {
            return $this->socket_auth($channel, $socketId, json_encode(['user_id' => $userId, 'user_info' => $info]));
        }

        public function authorizeChannel(string $channel, string $socketId, ?string $data = null): string
        {
            return $this->socket_auth($channel, $socketId, $data);
        }

        public function authorizePresenceChannel(string $channel, string $socketId, string $userId, mixed $info = null): string
        {
            return $this->presence_auth($channel, $socketId, $userId, $info);
        }
    }
}

namespace Illuminate\Http {
    /** What the endpoint and the broadcaster use of a request. */
    class Request
    {
        public function __construct(private array $fields) {}

        public function __get(string $name): mixed
        {
            return $this->fields[$name] ?? null;
        }

        public function __isset(string $name): bool
        {
            return isset($this->fields[$name]);
        }

        public function input(string $name, mixed $otherwise = null): mixed
        {
            return $this->fields[$name] ?? $otherwise;
        }

        public function merge(array $fields): static
        {
            $this->fields = $fields + $this->fields;

            return $this;
        }

        public function user(): object
        {
            return new class {
                public function getAuthIdentifier(): string
                {
                    return 'ann';
                }
            };
        }
    }
}

namespace {
    use Illuminate\Broadcasting\Broadcasters\PusherBroadcaster;
    use Illuminate\Http\Request;
    use Symfony\Component\HttpKernel\Exception\AccessDeniedHttpException;

    // Debian's Laravel is older than its PHP.
    error_reporting(E_ALL & ~E_DEPRECATED);
    require 'Illuminate/Broadcasting/autoload.php';
    require 'Illuminate/Collections/autoload.php';

    class Broadcast
    {
        public static PusherBroadcaster $broadcaster;

        public static function auth(Request $request): mixed
        {
            return self::$broadcaster->auth($request);
        }
    }

    class Route
    {
        /** @var array<string, Closure> */
        public static array $actions = [];

        public static function post(string $path, Closure $action): static
        {
            self::$actions[$path] = $action;

            return new static;
        }

        public function middleware(array $names): static
        {
            return $this;
        }
    }

    Broadcast::$broadcaster = new PusherBroadcaster(new Pusher\Pusher(getenv('APP_KEY'), getenv('APP_SECRET')));
    Broadcast::$broadcaster->channel('team.{id}', fn ($user, $id) => $id !== '3');
    Broadcast::$broadcaster->channel('room', fn ($user) => ['name' => 'Ann']);
    eval('use Illuminate\Http\Request; use Symfony\Component\HttpKernel\Exception\AccessDeniedHttpException;' . file_get_contents(getenv('AUTH_BATCH')));
    $action = Route::$actions[parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)];
    header('content-type: application/json');
    echo json_encode($action(new Request($_POST)));
}
