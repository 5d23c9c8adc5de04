import { describe, expect, it } from 'bun:test';
import type { Recipient } from '../../../model/device.ts';
import { TrustedDevices } from './trusted-devices.ts';

function device(number: number, isTrusted: boolean, token = 'token'): Recipient {
  return {
    number,
    id: `web-${number}`,
    platform: 'web',
    token,
    isTrusted,
  } as unknown as Recipient;
}

describe('a trusted device', () => {
  it('was accepted with its current token', () => {
    const devices = new TrustedDevices();
    expect(devices.has(device(1, false))).toBe(false);
    expect(devices.has(device(1, true))).toBe(true);
    devices.add(device(1, false));
    expect(devices.has(device(1, false))).toBe(true);
    expect(devices.has(device(1, false, 'other'))).toBe(false);
  });

  it('is distrusted until it is accepted again', () => {
    const devices = new TrustedDevices();
    for (const before of [true, false]) {
      const one = device(before ? 1 : 2, before);
      devices.add(one);
      devices.distrust(one.number);
      expect(devices.has(one)).toBe(false);
      expect(devices.wasAccepted(one)).toBe(true);
      devices.add(one);
      expect(devices.has(one)).toBe(true);
    }
  });

  it('is trusted again when the credential was replaced', () => {
    const devices = new TrustedDevices();
    devices.distrust(1);
    devices.clear();
    expect(devices.has(device(1, true))).toBe(true);
  });

  it('is trusted again when 4,000 others were distrusted since', () => {
    const devices = new TrustedDevices();
    for (let number = 1; number <= 4_001; number++) devices.distrust(number);
    expect(devices.has(device(1, true))).toBe(true);
    expect(devices.has(device(2, true))).toBe(false);
  });
});
