import { expect, it } from 'bun:test';
import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  appWith,
  FakeClock,
  hubWith,
  LateEngine,
  settled,
  VECTOR,
} from '../../channels/hub.fixture.ts';
import { stageOf } from './clients.fixture.ts';
import { FakeConnection } from './connection.fixture.ts';

/** Source: identity, §3.4. */

/** Sets what one connection may send: ten times as many frames at once. */
const FRAMES = 100;

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const app = appWith({
  clientEvents: false,
  grants: {
    channels: {},
    leewaySeconds: 0,
    publicKeys: [String(publicKey.export({ type: 'spki', format: 'pem' }))],
    jwksUrl: null,
    issuer: 'them',
    audience: 'ours',
    channelsClaim: 'channels',
    userClaim: 'sub',
  },
});

/** A token whose signature is wrong. */
function wrongToken(): string {
  const parts = [{ alg: 'ES256' }, {}].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  return `${parts.join('.')}.${randomBytes(64).toString('base64url')}`;
}

it('wrong tokens that have waited for the engine end their connection before all are verified', async () => {
  const engine = new LateEngine();
  const hub = hubWith(engine);
  const apps = { byId: () => app, byKey: () => app };
  const { clients } = stageOf({ hub, apps, monotonic: new FakeClock(), framesPerSecond: FRAMES });
  const connection = new FakeConnection({ app });
  connection.onClose = () => void clients.closed(connection);
  clients.open(connection);
  const sends = (data: object) =>
    clients.received(connection, JSON.stringify({ event: 'pusher:signin', data }));
  const user_data = '{"id":"ann"}';
  const signed = `${connection.socketId}::user::${user_data}`;
  const mac = createHmac('sha256', VECTOR.secret).update(signed).digest('hex');
  sends({ auth: `${VECTOR.key}:${mac}`, user_data });
  // The engine has not answered: these wait behind the sign-in, and none has cost anything yet.
  const auth = wrongToken();
  for (let n = 0; n < 900; n++) sends({ auth });
  const verified = () => hub.counted.filter((counter) => counter === 'tokens').length;
  expect([verified(), connection.isOpen]).toEqual([0, true]);
  await engine.answers('in ann');
  for (let turn = 0; turn < 100; turn++) {
    hub.clock.advance(10);
    await nextTurn();
    await settled();
  }
  expect(connection.isOpen).toBe(false);
  // 901 frames, and 100 for each token that was verified, until it is twice what may come at once.
  expect(verified()).toBeLessThanOrEqual(12);
});
