import { describe, expect, it } from 'bun:test';
import type { Recipient } from '../../model/device.ts';
import { TrustedDevices } from './trusted-devices.ts';

function device(number: number, acceptedBefore: boolean, token = 'token'): Recipient {
  return {
    number,
    id: `web-${number}`,
    platform: 'web',
    token,
    acceptedBefore,
  } as unknown as Recipient;
}

describe('a witness', () => {
  it('is a device that was accepted, with the token that was', () => {
    const witnesses = new TrustedDevices();
    expect(witnesses.has(device(1, false))).toBe(false);
    expect(witnesses.has(device(1, true))).toBe(true);
    witnesses.add(device(1, false));
    expect(witnesses.has(device(1, false))).toBe(true);
    expect(witnesses.has(device(1, false, 'other'))).toBe(false);
  });

  it('is none while it is doubted, until it is accepted again', () => {
    const witnesses = new TrustedDevices();
    for (const before of [true, false]) {
      const one = device(before ? 1 : 2, before);
      witnesses.add(one);
      witnesses.distrust(one.number);
      expect(witnesses.has(one)).toBe(false);
      expect(witnesses.wasAccepted(one)).toBe(true);
      witnesses.add(one);
      expect(witnesses.has(one)).toBe(true);
    }
  });

  it('is doubted no more when the credential was replaced', () => {
    const witnesses = new TrustedDevices();
    witnesses.distrust(1);
    witnesses.clear();
    expect(witnesses.has(device(1, true))).toBe(true);
  });

  it('is forgotten to be doubted before memory grows', () => {
    const witnesses = new TrustedDevices();
    for (let number = 1; number <= 4_001; number++) witnesses.distrust(number);
    expect(witnesses.has(device(1, true))).toBe(true);
    expect(witnesses.has(device(2, true))).toBe(false);
  });
});
