import { describe, expect, it } from 'bun:test';
import { UnreadAnswers } from './unread-answers.ts';

function stage(bytesMax: number) {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const told: string[] = [];
  const answers = new UnreadAnswers({
    bytesMax,
    clock,
    onBroken: ({ owner }) => void told.push(owner),
  });
  const broken: string[] = [];
  const answerOf = (owner: string, bytes: number, name = owner) => {
    const answer = {
      owner,
      left: bytes,
      waitingBytes: () => answer.left,
      break: () => void broken.push(name),
    };
    return answer;
  };
  return { clock, answers, broken, told, answerOf };
}

describe('unread answers', () => {
  it('share one limit: the app with the most loses its oldest', () => {
    const { answers, broken, answerOf } = stage(100);
    expect(answers.hold(answerOf('loud', 40, 'old'))).toBe(true);
    expect(answers.hold(answerOf('loud', 40, 'new'))).toBe(true);
    expect(answers.hold(answerOf('quiet', 30))).toBe(true);
    expect(broken).toEqual(['old']);
    expect(answers.hold(answerOf('loud', 40, 'more'))).toBe(false);
    expect(answers.bytes).toBe(70);
  });

  it('give their memory back', () => {
    const { answers, answerOf } = stage(100);
    const first = answerOf('loud', 100);
    expect(answers.hold(first)).toBe(true);
    expect(answers.hold(answerOf('loud', 1))).toBe(false);
    answers.release(first);
    answers.release(first);
    expect(answers.hold(answerOf('loud', 100))).toBe(true);
  });

  it('may be longer than the limit, alone', () => {
    const { answers, answerOf } = stage(100);
    expect(answers.hold(answerOf('a', 500))).toBe(true);
    expect(answers.hold(answerOf('a', 500))).toBe(false);
  });

  it('are broken off if their clients take nothing for 10 s', () => {
    const { clock, answers, broken, told, answerOf } = stage(100);
    const slow = answerOf('slow', 50);
    answers.hold(slow);
    answers.hold(answerOf('deaf', 50));
    for (clock.nowMs = 0; clock.nowMs <= 10_000; clock.nowMs += 1000) {
      slow.left--;
      answers.check();
    }
    expect(broken).toEqual(['deaf']);
    expect(told).toEqual(['deaf']);
    expect(answers.bytes).toBe(50);
  });
});
