import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { Sequence } from './sequence.ts';

function stage() {
  const heard: string[] = [];
  const sequence = new Sequence<string>({
    deliver: (message, isLate) => heard.push(isLate ? `${message} late` : message),
    missing: () => heard.push('missing'),
    missed: () => heard.push('missed'),
  });
  return {
    heard,
    sequence,
    /** Messages with these numbers arrive. */
    arrive: (...numbers: number[]) => {
      for (const number of numbers) sequence.receive(number, String(number));
    },
    /** Messages are missed; the function passes the number up to which they are, and those that must be delivered. */
    cut: () => {
      sequence.cut();
      const { gap } = sequence;
      return (upTo: number, ...numbers: number[]) => {
        if (gap === undefined) throw new Error('Nothing is missing');
        sequence.fill(gap, {
          missed: numbers.map((number) => ({ number, message: String(number) })),
          upTo,
        });
      };
    },
    /** An answer is awaited; the function passes its number. */
    ask: (name: string) => {
      const place = sequence.begin();
      return (number: number) => sequence.answer(place, number, () => heard.push(name));
    },
  };
}

describe('the sequence of a topic', () => {
  it('holds messages while an answer is awaited, and puts it among them', () => {
    const { heard, arrive, ask } = stage();
    ask('first')(10);
    const answer = ask('second');
    arrive(11, 12, 13);
    expect(heard).toEqual(['first']);
    answer(12);
    expect(heard).toEqual(['first', '11', '12', 'second', '13']);
  });

  it('lets an answer wait until the messages before it have come', () => {
    const { heard, arrive, ask } = stage();
    ask('first')(10);
    ask('second')(12);
    arrive(11);
    expect(heard).toEqual(['first', '11']);
    arrive(12, 13);
    expect(heard).toEqual(['first', '11', '12', 'second', '13']);
  });

  it('keeps from the first newcomer what came before it, however late that arrives', () => {
    const { heard, arrive, ask } = stage();
    const answer = ask('first');
    arrive(10);
    answer(12);
    arrive(11, 12, 13);
    expect(heard).toEqual(['10 late', 'first', '13']);
  });

  it('lets the first newcomer wait for nothing, though a message came before', () => {
    const { heard, sequence, arrive, ask } = stage();
    arrive(10);
    const refused = sequence.begin();
    arrive(11);
    sequence.drop(refused);
    // The channel was forgotten meanwhile, so its numbers began anew above the old ones.
    ask('first')(20);
    arrive(21);
    expect(heard).toEqual(['first', '21']);
  });

  it('continues without an answer that will not come', () => {
    const { heard, sequence, arrive, ask } = stage();
    ask('first')(10);
    const place = sequence.begin();
    arrive(11);
    sequence.drop(place);
    expect(heard).toEqual(['first', '11']);
  });

  it('notices that a message is missing', () => {
    const { heard, arrive, ask } = stage();
    ask('first')(10);
    arrive(11, 13);
    expect(heard).toEqual(['first', '11', 'missing', '13', 'missed']);
    ask('second')(14);
    arrive(15);
    expect(heard.slice(5)).toEqual(['missing', 'missed', 'second', '15']);
  });

  it('holds everything after a cut until it is known what was missed', () => {
    const { heard, arrive, ask, cut } = stage();
    ask('first')(10);
    const entering = ask('second');
    const fill = cut();
    entering(13);
    arrive(16);
    expect(heard).toEqual(['first']);
    // Of 12 and 15, which are no events, nothing is kept.
    fill(16, 9, 10, 11, 13, 14, 16);
    expect(heard).toEqual(['first', '11', '13', 'second', '14', '16']);
    arrive(17);
    expect(heard.at(-1)).toBe('17');
  });

  it('waits for nothing that came before a cut, and for everything that comes after it', () => {
    const { heard, arrive, ask, cut } = stage();
    ask('first')(10);
    ask('second')(12);
    cut()(18);
    expect(heard).toEqual(['first', 'second']);
    ask('within')(17);
    const answer = ask('read');
    answer(20);
    arrive(19);
    expect(heard.slice(2)).toEqual(['within', '19']);
    arrive(20, 21);
    expect(heard.slice(4)).toEqual(['20', 'read', '21']);
  });

  it('reports before a message that earlier ones are missing', () => {
    const { heard, arrive, ask, cut } = stage();
    ask('first')(10);
    arrive(12);
    expect(heard).toEqual(['first', 'missing', '12', 'missed']);
    cut()(20, 14);
    arrive(22);
    expect(heard.slice(4)).toEqual(['14', 'missing', '22', 'missed']);
  });

  it('goes back to the first cut after a second one', () => {
    const { heard, arrive, ask, cut } = stage();
    ask('first')(10);
    const fillTooSoon = cut();
    arrive(12);
    const fill = cut();
    fillTooSoon(12, 11);
    expect(heard).toEqual(['first']);
    fill(13, 11, 12, 13);
    expect(heard).toEqual(['first', '11', '12', '13']);
  });

  it('fills a cut after which the numbers begin anew', () => {
    const { heard, sequence, arrive, ask, cut } = stage();
    ask('first')(10);
    const fill = cut();
    sequence.reset();
    ask('again')(1000);
    arrive(1001);
    fill(1001, 9, 11, 1000, 1001);
    expect(heard).toEqual(['first', '11', '1000', 'again', '1001']);
  });

  it('begins anew with lower numbers when the authority has forgotten the topic', () => {
    const { heard, sequence, arrive, ask } = stage();
    ask('first')(1000);
    sequence.reset();
    ask('again')(10);
    arrive(11);
    expect(heard).toEqual(['first', 'again', '11']);
  });

  it('delivers each message once and in order, whenever answers come', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 20 }), { maxLength: 6 }),
        fc.infiniteStream(fc.boolean()),
        (after, isAnswer) => {
          const { heard, arrive, ask } = stage();
          ask('first')(0);
          const places = after.toSorted((a, b) => a - b);
          const answers = places.map((number, n) => [ask(`answer ${n}`), number] as const);
          let next = 1;
          while (next <= 20 || answers.length > 0) {
            const wantsAnswer = isAnswer.next().value || next > 20;
            const answer = wantsAnswer ? answers.shift() : undefined;
            if (answer !== undefined) answer[0](answer[1]);
            else if (next <= 20) arrive(next++);
          }
          const expected = ['first'];
          for (let number = 0; number <= 20; number++) {
            if (number > 0) expected.push(String(number));
            for (const [n, place] of places.entries()) {
              if (place === number) expected.push(`answer ${n}`);
            }
          }
          expect(heard).toEqual(expected);
        },
      ),
    );
  });
});
