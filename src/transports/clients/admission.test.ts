import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { App } from '../../channels/app.ts';
import { appWith } from '../../channels/hub.fixture.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import { requestTarget } from '../request-target.ts';
import { admit, knownSubprotocol, parameterOf } from './admission.ts';

const on = appWith({ id: 'on' });
const off = appWith({ id: 'off', enabled: false });
const apps = new Map<string, App>([
  ['key', on],
  ['off', off],
  ['ü/é key', on],
]);
const directory: AppDirectory = {
  byKey: (key) => apps.get(key),
  byId: () => undefined,
};

const introducedAt = (address: string, origin?: string) => ({ ...requestTarget(address), origin });

/** The app that an address leads to, or the problem. */
function admitted(address: string, prefix = ''): string {
  const admission = admit(introducedAt(address), prefix, directory);
  return admission.problem ?? admission.app.id;
}

describe('the address of a handshake', () => {
  it.each([
    '/app/key?protocol=7',
    '/app/key?protocol=6',
    '/app/key?protocol=5&client=x',
    '/app/key/?protocol=7',
    '/app/key?x=%zz&protocol=7&=&&y',
    '/app/%6B%65%79?protocol=7',
    '/app/%C3%BC%2F%C3%A9%20key?protocol=7',
    '/app/key?version=7.0.0',
    '/app/key?version=5',
  ])('leads to an app: %s', (address) => {
    expect(admitted(address)).toBe('on');
  });

  it.each([
    ['/?protocol=7', 'path-not-found'],
    ['/app?protocol=7', 'path-not-found'],
    ['/app/?protocol=7', 'path-not-found'],
    ['//app/key?protocol=7', 'path-not-found'],
    ['/app/key/more?protocol=7', 'path-not-found'],
    ['/App/key?protocol=7', 'path-not-found'],
    ['/app/key', 'no-protocol'],
    ['/app/key?', 'no-protocol'],
    ['/app/key?version=x', 'no-protocol'],
    ['/app/key?Protocol=7', 'no-protocol'],
    ['/app/key?protocol=', 'bad-protocol'],
    ['/app/key?protocol=7.0', 'bad-protocol'],
    ['/app/key?protocol=seven&version=7.0', 'bad-protocol'],
    ['/app/key?protocol=4', 'unsupported-protocol'],
    ['/app/key?protocol=8', 'unsupported-protocol'],
    ['/app/key?protocol=-7', 'unsupported-protocol'],
    [`/app/key?protocol=${'9'.repeat(400)}`, 'unsupported-protocol'],
    ['/app/key?version=8.6.0', 'unsupported-protocol'],
    ['/app/nobody?protocol=7', 'app-not-found'],
    ['/app/KEY?protocol=7', 'app-not-found'],
    ['/app/%?protocol=7', 'app-not-found'],
    ['/app/off?protocol=7', 'app-disabled'],
  ])('is refused: %s', (address, problem) => {
    expect(admitted(address)).toBe(problem);
  });

  it('may begin with the prefix, or have had it taken off', () => {
    expect(admitted('/live/app/key?protocol=7', '/live')).toBe('on');
    expect(admitted('/app/key?protocol=7', '/live')).toBe('on');
    expect(admitted('/lively/app/key?protocol=7', '/live')).toBe('path-not-found');
    expect(admitted('/other/app/key?protocol=7', '/live')).toBe('path-not-found');
    expect(admitted('/live/app/key?protocol=7')).toBe('path-not-found');
  });

  it('is quoted in an answer only up to a limit', () => {
    const key = 'x'.repeat(5000);
    const admission = admit(introducedAt(`/app/${key}?protocol=7`), '', directory);

    expect(admission).toMatchObject({
      message: `App key ${'x'.repeat(100)} not in this cluster. Did you forget to specify the cluster?`,
    });
  });
});

describe('the origin of a handshake', () => {
  const picky = appWith({ id: 'picky', allowedOrigins: ['https://shop.example.com'] });
  const withPicky: AppDirectory = { ...directory, byKey: () => picky };
  const admission = (origin?: string) =>
    admit(introducedAt('/app/key?protocol=7', origin), '', withPicky);

  it.each([undefined, '', 'https://shop.example.com'])('may be %p', (origin) => {
    expect(admission(origin)).toMatchObject({ app: picky });
  });

  it('is told to operators if it is refused, cut and without control characters', () => {
    const origin = `https://evil.example\n${'x'.repeat(300)}`;
    const { problem, app, note = '' } = { note: '', ...admission(origin) };
    expect({ problem, app }).toEqual({ problem: 'origin-not-allowed', app: picky });
    expect(note).toStartWith('Origin not allowed: https://evil.example');
    expect(note).not.toContain('\n');
    expect(note.length).toBeLessThan(240);
  });
});

describe('the subprotocol', () => {
  it.each([
    ['pusher-channels-protocol-7', 'pusher-channels-protocol-7'],
    ['chat, pusher-channels-protocol-7', 'pusher-channels-protocol-7'],
    ['chat,pusher-channels-protocol-6 ,pusher-channels-protocol-7', 'pusher-channels-protocol-6'],
    ['chat', undefined],
    ['', undefined],
    [',', undefined],
    ['pusher-channels-protocol-', undefined],
    ['pusher-channels-protocol-7x', undefined],
    ['xpusher-channels-protocol-7', undefined],
  ])('that is known in "%s" is %s', (offered, known) => {
    expect(knownSubprotocol(offered)).toBe(known);
  });
});

it('reads a parameter of a query as the standard of URLs does', () => {
  const piece = fc.constantFrom('a', 'ab', 'b', '=', '&', '%41', '+', '%', '1');
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const query = pieces.join('');
      for (const name of ['a', 'ab', 'b']) {
        expect(parameterOf(query, name)).toBe(new URLSearchParams(query).get(name));
      }
    }),
  );
});
