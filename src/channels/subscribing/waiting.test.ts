import { describe, expect, it } from 'bun:test';
import { answer } from '../answer.ts';
import type { App } from '../app.ts';
import { appWith, hubWith, LateEngine, sessionOf, settled, VECTOR } from '../hub.fixture.ts';
import { sign } from '../signatures/signature.ts';
import { disconnect, refuseWaiting } from './subscribe.ts';

/** Subscriptions that wait for a sign-in, on an engine that takes its time. Source: identity, §3.3. */

const SUCCEEDED = 'pusher_internal:subscription_succeeded';
const GRANTS = {
  channels: { 'private-*': ['subscribe'] },
  leewaySeconds: 0,
  jwksUrl: null,
  publicKeys: [],
  issuer: null,
  audience: null,
  channelsClaim: 'channels',
  userClaim: 'sub',
} as const;

function stage(app: App = appWith({ grants: GRANTS })) {
  const engine = new LateEngine();
  const hub = hubWith(engine);
  const session = sessionOf(app);
  return {
    engine,
    hub,
    session,
    subscribes: (channel: string) =>
      answer(hub, session, { type: 'subscribe', channel, auth: undefined, channelData: undefined }),
    signsIn: () => {
      const userData = '{"id":"ann"}';
      const signature = sign(VECTOR.secret, `${session.socketId}::user::${userData}`);
      return answer(hub, session, { type: 'signin', auth: `${VECTOR.key}:${signature}`, userData });
    },
  };
}

describe('a subscription that waits for a sign-in', () => {
  it('is asked for once the sign-in is answered, one after the other', async () => {
    const { engine, session, subscribes, signsIn } = stage();
    void subscribes('private-a');
    void subscribes('private-b');
    const signedIn = signsIn();
    await settled();
    expect(session.peer.received()).toEqual([]);
    await engine.answersNext();
    expect(session.peer.received()).toEqual(['pusher:signin_success']);
    expect(engine.questions.map(({ call }) => call)).toEqual(['join private-a']);
    await engine.answersNext();
    await engine.answersNext();
    await signedIn;
    expect(session.peer.received()).toEqual([SUCCEEDED, SUCCEEDED]);
  });

  it('is not refused while the engine has not answered the sign-in', async () => {
    const { engine, hub, session, subscribes, signsIn } = stage();
    void subscribes('private-a');
    const signedIn = signsIn();
    hub.clock.advance(60_000);
    refuseWaiting(hub, session);
    expect(session.peer.received()).toEqual([]);
    await engine.answersNext();
    await engine.answersNext();
    await signedIn;
    expect(session.peer.received()).toEqual(['pusher:signin_success', SUCCEEDED]);
  });

  it('is refused after the time, those that came later after theirs', () => {
    const { hub, session, subscribes } = stage();
    void subscribes('private-a');
    hub.clock.advance(5000);
    void subscribes('private-b');
    hub.clock.advance(5000);
    refuseWaiting(hub, session);
    const refused = ['pusher:error', 'pusher:subscription_error'];
    expect(session.peer.received()).toEqual(refused);
    hub.clock.advance(5000);
    refuseWaiting(hub, session);
    expect(session.peer.received()).toEqual(refused);
  });

  it('counts for the limits of its connection and of the server, and not after its end', async () => {
    const { hub, session, subscribes } = stage(
      appWith({ grants: GRANTS, limits: { ...appWith().limits, channelsPerConnection: 2 } }),
    );
    for (const channel of ['private-a', 'private-b', 'private-c']) void subscribes(channel);
    expect(session.peer.received()).toEqual(['pusher:error', 'pusher:subscription_error']);
    expect(hub.channels.subscriptions).toBe(2);
    await disconnect(hub, session);
    expect(hub.channels.subscriptions).toBe(0);
    expect(session.grants?.waiting.size).toBe(0);
  });
});
