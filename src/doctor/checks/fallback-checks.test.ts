import { expect, it } from 'bun:test';
import { fine, found } from '../finding.fixture.ts';
import { judgeArrival, judgeSilence } from './fallback-checks.ts';

const over = { transport: 'xhr_streaming', answeredBy: 'nginx/1.22' } as const;

it.each([
  [999.6, 1000, true],
  [1001, 10, false],
  [10, 1001, false],
])(
  'events after %d ms on a session that opened after %d ms are quick: %p',
  (ms, openedMs, isOk) => {
    const finding = judgeArrival({ what: 'an event', ms }, openedMs, over);
    const times = `opens after ${openedMs} ms, and an event arrives after ${Math.round(ms)} ms`;
    expect(finding).toMatchObject(
      isOk ? fine(times) : found('warning', `xhr_streaming ${times}`, 'nginx: in the location'),
    );
  },
);

it('warns if one of several sessions was cut while nothing was said', () => {
  const open = { ending: undefined };
  const cut = { ending: { code: 1006, reason: '' } };
  expect(judgeSilence([open, open], 3000)).toMatchObject(fine('3 s of silence'));
  expect(judgeSilence([open, cut], 3000)).toMatchObject(found('warning', 'cut within 3 s', '25 s'));
});
