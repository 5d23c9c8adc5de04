import { describe, expect, it } from 'bun:test';
import { asFanfare } from './command.ts';

/** The words that a shell makes of a command. */
function wordsOf(command: string): readonly string[] {
  const { stdout, exitCode } = Bun.spawnSync(['bash', '-c', `printf '%s\\0' ${command}`]);
  expect(exitCode).toBe(0);
  return stdout.toString().split('\0').slice(0, -1);
}

describe('a command for a shell', () => {
  it.each([
    ['plain'],
    ["it's"],
    ['two words'],
    ['$(id) `id` "x" \\ !!'],
    ['hello\u0003\ncurl evil.test'],
    ["tab\t'quote' \\back\u0007A"],
    ['\u001b[31mred\u009b'],
    ['left\u202eright\u2066'],
    ['line\u2028break'],
    ['Zoë 👩‍👧'],
    ['-rf'],
    ['--help'],
    [''],
  ])('gives the program the text %j and hides nothing from who pastes it', (text) => {
    const command = asFanfare(['history', 'app', text], { after: text });
    expect(command).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    const words = wordsOf(command);
    expect(words).toContain(text);
    if (text !== '') expect(words).toContain(`--after=${text}`);
  });

  it('has no operand or value that counts as an option', () => {
    expect(asFanfare(['send', 'app', 'chat', 'e', '{}'], { except: '1.2' })).toBe(
      "fanfare send app chat e '{}' --except=1.2",
    );
    expect(asFanfare(['send', 'app', '-chat', 'e', '-1'], { except: '1.2' })).toBe(
      'fanfare send app --except=1.2 -- -chat e -1',
    );
    expect(asFanfare(['tail', 'app'], { prefix: '-x', kinds: undefined, json: true })).toBe(
      'fanfare tail app --prefix=-x --json',
    );
  });
});
