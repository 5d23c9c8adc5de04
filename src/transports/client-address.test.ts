import { describe, expect, it } from 'bun:test';
import { TrustedProxies } from '../runtime/trusted-proxies.ts';
import { ClientAddresses } from './client-address.ts';

function stage(...ranges: string[]) {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const lines: object[] = [];
  const log = { warn: (_: string, fields: object) => lines.push(fields) };
  const addresses = new ClientAddresses({
    host: '127.0.0.1',
    proxies: new TrustedProxies(ranges),
    log,
    clock,
  });
  return {
    clock,
    lines,
    of: (peer: string, headers: Record<string, string> = {}) =>
      addresses.of(peer, new Headers(headers)),
  };
}

describe('the address of a client', () => {
  it('is the one that a trusted proxy gives, in either header', () => {
    const { of, lines } = stage('10.0.0.0/8');
    expect(of('10.0.0.1', { 'X-Forwarded-For': '1.2.3.4' })).toBe('1.2.3.4');
    expect(of('10.0.0.1', { Forwarded: 'for=1.2.3.4' })).toBe('1.2.3.4');
    expect(of('10.0.0.1')).toBe('10.0.0.1');
    expect(lines).toEqual([]);
  });

  it('is that of the connection otherwise; an unnamed proxy is logged once a minute', () => {
    const { clock, lines, of } = stage();
    expect(of('10.0.0.1')).toBe('10.0.0.1');
    expect(lines).toEqual([]);
    for (let n = 0; n < 10; n++)
      expect(of('10.0.0.1', { Forwarded: 'for=1.2.3.4' })).toBe('10.0.0.1');
    const line = { address: '10.0.0.1', setting: 'trustedProxies' };
    expect(lines).toEqual([line]);
    clock.nowMs = 60_000;
    of('10.0.0.1', { 'X-Forwarded-For': '1.2.3.4' });
    expect(lines).toEqual([line, line]);
  });
});
