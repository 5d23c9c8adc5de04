import { Resolver as SystemResolver } from 'node:dns/promises';
import { Http1Pool } from '../../src/gateways/web/http1-pool.ts';
import { Http2Client } from '../../src/outgoing/http2/client.ts';
import { Resolver } from '../../src/outgoing/resolve.ts';

/** Runs in the background thread of `patient-server.fixture.ts`, before the background loop itself. */

const HOUR_MS = 3_600_000;

const sendOverHttp1 = Http1Pool.prototype.send;
Http1Pool.prototype.send = function (request) {
  Object.assign(this['options'], { timeoutMs: HOUR_MS });
  return sendOverHttp1.call(this, request);
};

const sendOverHttp2 = Http2Client.prototype.send;
Http2Client.prototype.send = function (request) {
  Object.assign(this['options'], { requestTimeoutMs: HOUR_MS });
  return sendOverHttp2.call(this, request);
};

const { NAME_SERVER: nameServer } = process.env;
if (nameServer !== undefined) {
  const lookUp = Resolver.prototype['query'];
  Resolver.prototype['query'] = function (...asked) {
    const { timers } = this['options'];
    const after = () => () => undefined;
    Object.assign(this['options'], { timers: { ...timers, after } });
    return lookUp.apply(this, asked);
  };
  await import('./name-server-background.fixture.ts');
  const { resolve4 } = SystemResolver.prototype;
  SystemResolver.prototype.resolve4 = async function (this: SystemResolver, ...asked: unknown[]) {
    const never = () => new Promise<never>(() => undefined);
    return await Reflect.apply(resolve4, this, asked).catch(never);
  } as typeof resolve4;
}
