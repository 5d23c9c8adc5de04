import { type MakeRule, seconds } from '../rule.ts';

/** A list of members changes one user at a time: none is added who is there, none removed who is not. */
export const members: MakeRule = (_, report) => {
  const check = (isRight: boolean, at: { c: number; ch: string; t: number }, what: string) => {
    report.checked();
    const { c: client, ch: channel, t } = at;
    const text = `the list of ${channel} that client ${client} has ${what}, at ${seconds(t)}`;
    if (!isRight) report.broken({ channel, client, t, text });
  };
  return {
    see: {
      subscribed(line, view) {
        if (line.members === undefined || view === undefined) return;
        const listed = new Set(line.members);
        check(listed.size === line.members.length, line, 'lists a user twice');
        const { user } = view;
        const what = `lacks the client's own user ${user}`;
        if (user !== undefined) check(listed.has(user), line, what);
      },
      joined(line, view) {
        const isThere = view?.members?.has(line.user);
        if (isThere !== undefined) check(!isThere, line, `adds ${line.user}, who is there`);
      },
      left(line, view) {
        const isThere = view?.members?.has(line.user);
        if (isThere !== undefined) check(isThere, line, `removes ${line.user}, who is not there`);
      },
    },
  };
};
