import { describe, expect, it } from 'bun:test';
import { hashOf, placeOf } from '../../clients/frames/topic-place.ts';
import { MergeEstimate } from './merge-estimate.ts';

/** Notes this many publishes, each of another topic. */
function noteOthers(estimate: MergeEstimate, count: number, receivers = 1): void {
  for (let other = 0; other < count; other++) estimate.note(`other-${other}`, receivers);
}

describe('the share of sends that recur', () => {
  it('is 1 before anything is known', () => {
    const estimate = new MergeEstimate();
    expect(estimate.share).toBe(1);
    estimate.note('a', 10);
    expect(estimate.share).toBeGreaterThan(0.99);
  });

  it('is near 0 after some hundreds of topics that came once', () => {
    const estimate = new MergeEstimate();
    noteOthers(estimate, 380);
    expect(estimate.share).toBeGreaterThan(0.05);
    for (let more = 0; more < 10; more++) estimate.note(`more-${more}`, 1);
    expect(estimate.share).toBeLessThan(0.05);
  });

  it('is near 1 if a hundred topics take turns', () => {
    const estimate = new MergeEstimate();
    for (let at = 0; at < 2000; at++) estimate.note(`topic-${at % 100}`, 10);
    expect(estimate.share).toBeGreaterThan(0.9);
  });

  it('is near 0 if thousands of topics take turns', () => {
    const estimate = new MergeEstimate();
    for (let at = 0; at < 20_000; at++) estimate.note(`topic-${at % 3000}`, 10);
    expect(estimate.share).toBeLessThan(0.001);
  });

  it.each([
    [127, true],
    [128, false],
  ])('counts what was among the 128 publishes before: %p others between, %p', (others, recurs) => {
    const estimate = new MergeEstimate();
    noteOthers(estimate, 2000);
    estimate.note('a', 1);
    noteOthers(estimate, others);
    const before = estimate.share;
    estimate.note('a', 1);
    expect(estimate.share > before).toBe(recurs);
  });

  it('is of sends and not of publishes', () => {
    const estimate = new MergeEstimate();
    for (let at = 0; at < 2000; at++) {
      estimate.note(`alone-${at}`, 1);
      if (at % 20 === 0) estimate.note('crowd', 1000);
    }
    expect(estimate.share).toBeGreaterThan(0.9);

    const ofFew = new MergeEstimate();
    for (let at = 0; at < 2000; at++) {
      ofFew.note(`alone-${at}`, 9);
      ofFew.note('one', 1);
    }
    expect(ofFew.share).toBeCloseTo(0.1, 2);
  });

  it('is near 0 if different topics share a place', () => {
    const shared = placeOf(hashOf('a'));
    const sharing: string[] = [];
    for (let at = 0; sharing.length < 500; at++) {
      if (placeOf(hashOf(`topic-${at}`)) === shared) sharing.push(`topic-${at}`);
    }
    const estimate = new MergeEstimate();
    for (const topic of sharing) estimate.note(topic, 1);
    expect(estimate.share).toBeLessThan(0.05);
  });

  it('is near 0 if topics differ at one end only', () => {
    const ends = new MergeEstimate();
    const beginnings = new MergeEstimate();
    for (let at = 0; at < 500; at++) {
      ends.note(`private-messages-of-somebody-${at}`, 1);
      beginnings.note(`${at}-private-messages-of-somebody`, 1);
    }
    expect(ends.share).toBeLessThan(0.05);
    expect(beginnings.share).toBeLessThan(0.05);
  });
});
