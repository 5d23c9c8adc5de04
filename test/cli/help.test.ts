import { describe, expect, it } from 'bun:test';
import { commands } from '../../src/cli/commands.ts';
import { run } from '../../src/cli/run.ts';

/** The output and the exit code of a command line. */
async function tryOut(...argv: string[]) {
  const printed: string[] = [];
  const complained: string[] = [];
  const code = await run(argv, {
    print: (text) => void printed.push(text),
    complain: (text) => void complained.push(text),
  });
  return { code, printed: printed.join('\n'), complained: complained.join('\n') };
}

describe('the command line', () => {
  it('shows every command with --help', async () => {
    const { code, printed } = await tryOut('--help');
    expect(code).toBe(0);
    for (const { name } of commands) expect(printed).toContain(`fanfare ${name}`);
  });

  it('explains each command and each of its options', async () => {
    for (const { name, help, options } of commands) {
      const { code, printed } = await tryOut(...name.split(' '), '--help');
      expect(code).toBe(0);
      expect(printed).toContain(help);
      for (const option of options) expect(printed).toContain(`--${option.name}`);
    }
  });

  it('shows the commands of a group that is given alone, and ends with 2', async () => {
    const { code, complained } = await tryOut('apps');
    expect(code).toBe(2);
    expect(complained).toContain('fanfare apps rotate ID');
    expect(complained).not.toContain('fanfare serve');
  });

  it('refuses an unknown command, an unknown option and a missing id with 2', async () => {
    expect(await tryOut('sevre')).toMatchObject({
      code: 2,
      complained: expect.stringContaining('there is no command "sevre"'),
    });
    expect(await tryOut('serve', '--prot', '1')).toMatchObject({
      code: 2,
      complained: expect.stringContaining('--prot'),
    });
    expect(await tryOut()).toMatchObject({ code: 2 });
  });

  it('takes what follows -- as it is', async () => {
    expect(await tryOut('send', '--', '--help', '-h', '-name')).toMatchObject({
      code: 2,
      complained: expect.stringContaining('DATA is missing'),
    });
    expect(await tryOut('health', '--', '--help')).toMatchObject({
      code: 2,
      complained: expect.stringContaining('unexpected "--help"'),
    });
  });

  it('prints its version with the commit, Bun and the platform', async () => {
    expect(await tryOut('--version')).toMatchObject({
      code: 0,
      printed: expect.stringMatching(
        /^\d+\.\d+\.\d+ \((?:commit [0-9a-f]{12}, )?Bun \d+\.\d+\.\d+, \w+-\w+\)$/,
      ),
    });
  });
});
