import { type Evidence, type Rule, seconds } from '../rule.ts';

/** A list of members changes one user at a time: none is added who is there, none removed who is not. */
export function members({ recording, findings }: Evidence): Rule {
  const check = (
    isRight: boolean,
    { c, ch, t }: { c: number; ch: string; t: number },
    what: string,
  ) => {
    findings.checked('members');
    if (isRight) return;
    const text = `the list of ${ch} that client ${c} has ${what}, at ${seconds(t)}`;
    findings.broken('members', { channel: ch, client: c, t, text });
  };
  return {
    see: {
      subscribed(line) {
        const view = recording.viewOf(line);
        if (line.members === undefined || view === undefined) return;
        const listed = new Set(line.members);
        check(listed.size === line.members.length, line, 'lists a user twice');
        const { user } = view;
        if (user !== undefined)
          check(listed.has(user), line, `lacks the client's own user ${user}`);
      },
      joined(line) {
        const list = recording.viewOf(line)?.members;
        if (list !== undefined)
          check(!list.has(line.user), line, `adds ${line.user}, who is there`);
      },
      left(line) {
        const list = recording.viewOf(line)?.members;
        if (list !== undefined)
          check(list.has(line.user), line, `removes ${line.user}, who is not there`);
      },
    },
  };
}
