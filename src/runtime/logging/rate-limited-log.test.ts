import { describe, expect, it } from 'bun:test';
import { RateLimitedLog } from './rate-limited-log.ts';

function stage() {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const lines: object[] = [];
  const write = (level: string) => (message: string, fields?: object) =>
    lines.push({ level, message, ...fields });
  const log = new RateLimitedLog(
    { info: write('info'), warn: write('warn'), error: write('error') },
    clock,
  );
  return { clock, lines, log };
}

describe('lines that clients cause', () => {
  it('are throttled for each app, and report how many were left out', () => {
    const { clock, lines, log } = stage();
    for (let count = 0; count < 1000; count++) log.info('Refused', { app: 'loud' }, { why: 'x' });
    log.info('Refused', { app: 'quiet' });
    expect(lines).toHaveLength(51);
    expect(lines.at(-1)).toEqual({ level: 'info', message: 'Refused', app: 'quiet' });

    clock.nowMs = 1000;
    log.info('Refused', { app: 'loud', address: '1.2.3.4' }, { why: 'x' });
    expect(lines.at(-1)).toEqual({
      level: 'info',
      message: 'Refused',
      app: 'loud',
      address: '1.2.3.4',
      why: 'x',
      notLogged: 950,
    });
  });

  it('are throttled for each instance, apart from an app of the same name', () => {
    const { lines, log } = stage();
    for (let count = 0; count < 1000; count++) log.info('Changed', { instance: 'a' });
    log.info('Changed', { instance: 'b' });
    log.info('Changed', { app: 'a' });
    expect(lines).toHaveLength(52);
    expect(lines[0]).toEqual({ level: 'info', message: 'Changed', instance: 'a' });
  });

  it('are throttled for each kind', () => {
    const { lines, log } = stage();
    for (let count = 0; count < 100; count++) log.warn('One kind', { app: 'a' });
    log.error('Another', { app: 'a' });
    expect(lines).toHaveLength(51);
  });

  it('are limited for all addresses together, and by /64 for one', () => {
    const { lines, log } = stage();
    for (let count = 0; count < 1000; count++) log.info('a', { address: `2001:db8::${count}` });
    expect(lines).toHaveLength(50);
    for (let count = 0; count < 1000; count++) {
      log.info('b', { address: `1.2.${count >> 8}.${count & 255}` });
    }
    expect(lines).toHaveLength(250);
  });

  it('about apps are not crowded out by those about addresses', () => {
    const { lines, log } = stage();
    for (let count = 0; count < 5000; count++) {
      log.info('Refused', { address: `1.2.${count >> 8}.${count & 255}` });
    }
    log.info('Refused', { app: 'a' });
    expect(lines.at(-1)).toMatchObject({ app: 'a' });
  });

  it('about an app keep their rate and count with any number of addresses', () => {
    const { lines, log } = stage();
    for (let address = 0; address < 20_000; address++) {
      log.info('Refused', { address: `2001:db8:${address.toString(16)}::1` });
      log.info('Refused', { app: 'a' });
    }
    expect(lines).toHaveLength(50 + 200);
  });

  it('are limited for all apps together, and every left-out line is counted', () => {
    const { clock, lines, log } = stage();
    for (let app = 0; app < 100; app++) {
      for (let count = 0; count < 100; count++) log.info('Refused', { app: `${app}` });
    }
    expect(lines).toHaveLength(2000);
    clock.nowMs = 1000;
    for (let app = 0; app < 100; app++) log.info('Refused', { app: `${app}` });
    const written = lines.reduce((sum: number, line) => {
      const { notLogged = 0 } = line as { notLogged?: number };
      return sum + 1 + notLogged;
    }, 0);
    expect(lines).toHaveLength(2100);
    expect(written).toBe(10_000 + 100);
  });
});
