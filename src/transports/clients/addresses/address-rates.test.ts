import { describe, expect, it } from 'bun:test';
import { AddressRates } from './address-rates.ts';
import { packAddress } from './packed-address.ts';

const here = packAddress('192.0.2.1');

function stage(connectionsPerSecond: number, framesPerSecond: number) {
  let nowMs = 5000;
  const rates = new AddressRates({ connectionsPerSecond, framesPerSecond }, { now: () => nowMs });
  return {
    rates,
    pass: (seconds: number) => {
      nowMs += seconds * 1000;
    },
  };
}

describe('a client address', () => {
  it('may open a minute of connections at once, and then as many as its rate allows', () => {
    const { rates, pass } = stage(2, 0);
    for (let n = 0; n < 120; n++) expect(rates.refuse(here)).toBeUndefined();
    expect(rates.refuse(here)).toBe('connectionsPerSecond');
    expect(rates.refuse(packAddress('192.0.2.2'))).toBeUndefined();
    pass(1);
    expect(rates.refuse(here)).toBeUndefined();
    expect(rates.refuse(here)).toBeUndefined();
    expect(rates.refuse(here)).toBe('connectionsPerSecond');
  });

  it('of IPv6 is a /64', () => {
    const { rates } = stage(1, 0);
    for (let n = 0; n < 60; n++) {
      expect(rates.refuse(packAddress(`2001:db8::${n}`))).toBeUndefined();
    }
    expect(rates.refuse(packAddress('2001:db8::ffff'))).toBe('connectionsPerSecond');
    expect(rates.refuse(packAddress('2001:db8:0:1::'))).toBeUndefined();
  });

  it('is charged for the frames of connections that have ended', () => {
    const { rates, pass } = stage(0, 10);
    expect(rates.count(here, 599)).toBe(true);
    expect(rates.refuse(here)).toBeUndefined();
    expect(rates.count(here, 401)).toBe(false);
    expect(rates.refuse(here)).toBe('framesPerSecond');
    pass(40);
    expect(rates.refuse(here)).toBe('framesPerSecond');
    pass(1);
    expect(rates.refuse(here)).toBeUndefined();
  });

  it('has no limit if none is set', () => {
    const { rates } = stage(0, 0);
    for (let n = 0; n < 1000; n++) expect(rates.refuse(here)).toBeUndefined();
    expect(rates.count(here, 1e9)).toBe(true);
    expect(rates.refuse(here)).toBeUndefined();
  });
});
