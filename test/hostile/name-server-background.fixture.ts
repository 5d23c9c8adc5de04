import { Resolver } from 'node:dns/promises';

/** Runs in the background thread of `name-server.fixture.ts`, before the background loop itself. */

const { resolve4 } = Resolver.prototype;
const servers = [process.env['NAME_SERVER'] ?? ''];

// Each client asks for IPv4 addresses first.
Resolver.prototype.resolve4 = function (this: Resolver, ...asked: unknown[]) {
  this.setServers(servers);
  return Reflect.apply(resolve4, this, asked);
} as typeof resolve4;
