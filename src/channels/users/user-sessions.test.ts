import { describe, expect, it } from 'bun:test';
import { appWith, sessionOf } from '../hub.fixture.ts';
import { UserSessions } from './user-sessions.ts';

describe('the connections of a user', () => {
  const app = appWith();

  it('are those that are signed in, until they are removed', () => {
    const sessions = new UserSessions();
    const [first, second, other] = ['1.1', '1.2', '1.3'].map((id) => sessionOf(app, id));
    if (first === undefined || second === undefined || other === undefined) throw new Error();
    sessions.add('ann', first);
    sessions.add('ann', second);
    sessions.add('bob', other);
    expect(sessions.of(app, 'ann')).toEqual([first, second]);
    sessions.remove('ann', first);
    sessions.remove('ann', first);
    expect(sessions.of(app, 'ann')).toEqual([second]);
    sessions.remove('ann', second);
    expect(sessions.of(app, 'ann')).toEqual([]);
    expect(sessions.of(app, 'bob')).toEqual([other]);
  });

  it('of another app are others', () => {
    const sessions = new UserSessions();
    sessions.add('ann', sessionOf(appWith({ id: 'other' })));
    expect(sessions.of(app, 'ann')).toEqual([]);
  });

  it('may go while they are walked through', () => {
    const sessions = new UserSessions();
    const all = ['1.1', '1.2', '1.3'].map((id) => sessionOf(app, id));
    for (const session of all) sessions.add('ann', session);
    const walked = [];
    for (const session of sessions.of(app, 'ann')) {
      sessions.remove('ann', session);
      walked.push(session);
    }
    expect(walked).toEqual(all);
    expect(sessions.of(app, 'ann')).toEqual([]);
  });
});
