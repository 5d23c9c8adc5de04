import { describe, expect, it } from 'bun:test';
import { configIn, load, loadJson, problemsIn } from '../loading.fixture.ts';
import type { EnvironmentVariables } from './variables.ts';

const PROXY = 'http://user:pass@proxy.example.test:3128';

const outgoingOf = (content: object, environment: EnvironmentVariables) =>
  configIn(loadJson(content, environment)).outgoing;

describe('a variable that many programs read', () => {
  it('names the proxy, and what is reached without it', () => {
    expect(outgoingOf({}, { HTTPS_PROXY: PROXY, NO_PROXY: 'localhost,.internal' })).toEqual({
      proxy: PROXY,
      noProxy: ['localhost', '.internal'],
      proxyNames: 'checked',
    });
    expect(outgoingOf({}, { https_proxy: 'proxy:3128', no_proxy: '10.0.0.0/8' })).toMatchObject({
      proxy: 'http://proxy:3128',
      noProxy: ['10.0.0.0/8'],
    });
  });

  it('counts in upper case first, and not if it is empty', () => {
    const both = { HTTPS_PROXY: PROXY, https_proxy: 'http://other:1' };
    expect(outgoingOf({}, both).proxy).toBe(PROXY);
    expect(outgoingOf({}, { ...both, HTTPS_PROXY: '' }).proxy).toBe('http://other:1');
    expect(outgoingOf({}, { HTTPS_PROXY: '', HTTP_PROXY: PROXY }).proxy).toBeNull();
  });

  it('gives way to the file and to variables of this server', () => {
    const environment = { HTTPS_PROXY: PROXY, NO_PROXY: 'a.test' };
    const outgoing = { proxy: 'http://own:1', noProxy: [] };
    expect(outgoingOf({ outgoing }, environment)).toMatchObject(outgoing);
    expect(outgoingOf({ outgoing: { proxy: 'none' } }, environment).proxy).toBe('none');
    expect(outgoingOf({ outgoing: { proxy: null } }, environment).proxy).toBe(PROXY);
    const own = {
      FANFARE_OUTGOING_PROXY: 'http://own:2',
      FANFARE_OUTGOING_NO_PROXY: 'b.test c.test,d.test',
    };
    expect(outgoingOf({}, { ...environment, ...own })).toMatchObject({
      proxy: 'http://own:2',
      noProxy: ['b.test', 'c.test,d.test'],
    });
  });

  it('may have entries for other programs, which are ignored', () => {
    const NO_PROXY = 'a.test, <local>, 169.254/16,*.b.test';
    expect(outgoingOf({}, { NO_PROXY }).noProxy).toEqual(['a.test', '*.b.test']);
  });

  it.each(['socks5://u:hunter2@h:1', 'https://u:hunter2@h:1', 'http://u:hunter2/x@h:1'])(
    'is refused with its name, and its password is not repeated: %s',
    (HTTPS_PROXY) => {
      const problems = problemsIn(load({}, { HTTPS_PROXY }));
      expect(problems).toEqual([
        expect.stringContaining(
          'HTTPS_PROXY (outgoing.proxy): must be the URL of an HTTP proxy such as http://proxy.example.org:3128, or "none"',
        ),
      ]);
      expect(problems.join()).not.toContain('hunter2');
      expect(problemsIn(loadJson({ outgoing: { proxy: 'none' } }, { HTTPS_PROXY }))).toEqual([]);
    },
  );
});

it('a wrong entry of outgoing.noProxy is refused', () => {
  expect(problemsIn(loadJson({ outgoing: { noProxy: ['a.test', 'http://b.test'] } }))).toEqual([
    expect.stringContaining('outgoing.noProxy[1]: must be a host'),
  ]);
});
