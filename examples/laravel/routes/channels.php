<?php

use App\Models\User;
use Illuminate\Support\Facades\Broadcast;

Broadcast::channel('orders.{userId}', fn (User $user, int $userId) => $user->id === $userId);
