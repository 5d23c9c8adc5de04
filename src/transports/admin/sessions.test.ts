import { describe, expect, it } from 'bun:test';
import { BrowserSessions } from './sessions.ts';

function sessionsWith(path?: string) {
  const clock = { nowMs: Date.parse('2026-11-23T12:00:00Z') };
  let current: string | undefined = 'one';
  const sessions = new BrowserSessions({ password: () => current, path, now: () => clock.nowMs });
  const cookieOf = ([header = '']: readonly string[]) => header.split(';')[0] ?? '';
  return {
    clock,
    sessions,
    /** The cookie of a new session, as a browser sends it back. */
    open: (isSecure = false) => cookieOf(sessions.open({ isSecure })),
    changePassword(to: string | undefined) {
      current = to;
    },
  };
}

describe('a session', () => {
  it('lasts 12 hours', () => {
    const { sessions, open, clock } = sessionsWith();
    const cookie = open();
    clock.nowMs += 12 * 3_600_000 - 1;
    expect(sessions.isOpen(cookie)).toBe(true);
    clock.nowMs += 1;
    expect(sessions.isOpen(cookie)).toBe(false);
  });

  it('ends with the password that began it, and holds on every server with that password', () => {
    const { sessions, open, changePassword } = sessionsWith();
    const cookie = open();
    expect(sessionsWith().sessions.isOpen(cookie)).toBe(true);
    for (const password of ['two', undefined]) {
      changePassword(password);
      expect(sessions.isOpen(cookie)).toBe(false);
    }
  });

  it('is sent to the path of the dashboard alone, if that shares a host with other applications', () => {
    const { sessions, open } = sessionsWith('/realtime/admin');
    expect(sessions.open({ isSecure: true })[0]).toMatch(
      /^__Secure-fanfare=\S+; Path=\/realtime\/admin; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
    );
    expect(sessions.close({ isSecure: false })[0]).toStartWith('fanfare=; Path=/realtime/admin; ');
    expect(sessions.isOpen(open(true))).toBe(true);
    const whole = sessionsWith();
    expect(whole.sessions.open({ isSecure: true })[0]).toMatch(/^__Host-fanfare=\S+; Path=\/; /);
    expect([sessions.isOpen(whole.open(true)), whole.sessions.isOpen(open(true))]).toEqual([
      false,
      false,
    ]);
  });

  it('is found among other cookies, by the name for HTTPS first', () => {
    const { sessions, open } = sessionsWith();
    expect(sessions.isOpen(`a=b; ${open(true)}; fanfare=x; c`)).toBe(true);
    expect(sessions.isOpen(`__Host-fanfare=x; ${open()}`)).toBe(false);
  });

  it.each([
    (cookie: string) => cookie.slice(0, -1),
    (cookie: string) => `${cookie}A`,
    (cookie: string) => cookie.replace(/^fanfare=./, 'fanfare=z'),
    (cookie: string) => cookie.replace(/\.[^.]+$/, ''),
    (cookie: string) => cookie.replace('fanfare=', 'other='),
    () => 'fanfare=',
    () => 'fanfare',
    () => '',
  ])('cannot be forged: %#', (change) => {
    const { sessions, open } = sessionsWith();
    expect(sessions.isOpen(change(open()))).toBe(false);
  });

  it('is kept by browsers from scripts and from other sites, and over HTTPS from other hosts', () => {
    const { sessions } = sessionsWith();
    expect(sessions.open({ isSecure: true })[0]).toMatch(
      /^__Host-fanfare=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
    );
    expect(sessions.open({ isSecure: false })[0]).toMatch(
      /^fanfare=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
  });

  it('is forgotten whichever way it began, and replaces one that began over HTTP', () => {
    const { sessions } = sessionsWith();
    const plain = 'fanfare=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict';
    expect(sessions.close({ isSecure: true })).toEqual([`__Host-${plain}; Secure`, plain]);
    // Browsers take no Secure cookie over HTTP.
    expect(sessions.close({ isSecure: false })).toEqual([plain]);
    expect(sessions.open({ isSecure: true })).toEqual([expect.stringContaining('; Secure'), plain]);
    expect(sessions.open({ isSecure: false })).toHaveLength(1);
  });
});

describe('a log-in link', () => {
  it('works once, within ten minutes, and until the next is made', () => {
    const { sessions, clock } = sessionsWith();
    const first = sessions.makeLink();
    const second = sessions.makeLink();
    expect([first, second, second].map((token) => sessions.useLink(token))).toEqual([
      false,
      true,
      false,
    ]);
    const late = sessions.makeLink();
    clock.nowMs += 600_000;
    expect(sessions.useLink(late)).toBe(false);
    expect(sessions.useLink('')).toBe(false);
  });
});
