import { expect, it } from 'bun:test';
import { appWith, FakeClock } from '../hub.fixture.ts';
import { StayBudget } from './stay-budget.ts';

it('lets members of an app stay up to what the app leaves free, and each until its grace has ended', () => {
  const clock = new FakeClock();
  const stays = new StayBudget(10, clock);
  const [loud, quiet] = [appWith({ id: 'loud' }), appWith({ id: 'quiet' })];
  const takes = (app: typeof loud, seconds: number) =>
    Array.from({ length: 20 }, () => stays.take(app, seconds)).filter((isTaken) => isTaken).length;

  expect(takes(loud, 10)).toBe(5);
  expect(takes(quiet, 20)).toBe(3);
  clock.advance(9000);
  expect(takes(loud, 10)).toBe(0);
  clock.advance(2000);
  expect(takes(loud, 10)).toBe(4);
  clock.advance(60_000);
  expect(takes(quiet, 10)).toBe(5);
});
