import { describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { Glob } from 'bun';
import rootPackage from '../../package.json';

const EXAMPLES = join(import.meta.dir, '../../examples');

/** The small ones; `examples/cluster` is a demonstration. */
const SMALL = (await Array.fromAsync(new Glob('*/README.md').scan(EXAMPLES))).map(
  (path) => path.split('/')[0] ?? '',
);

async function filesOf(example: string, pattern: string): Promise<readonly string[]> {
  const folder = join(EXAMPLES, example);
  const paths = await Array.fromAsync(new Glob(pattern).scan({ cwd: folder, dot: true }));
  return await Promise.all(
    paths
      .filter((path) => !path.includes('node_modules'))
      .map((path) => Bun.file(join(folder, path)).text()),
  );
}

it('finds the examples', () => {
  expect(SMALL.toSorted()).toEqual(['ai-chat', 'chat', 'encrypted', 'laravel', 'web-push']);
});

describe.each(SMALL)('the example %s', (example) => {
  it('has at most 100 lines of code', async () => {
    // The routes of the AI SDK are a recipe of their own.
    const code = await filesOf(example, '**/!(ai-sdk).{mjs,js,html,php}');
    const lines = code.flatMap((text) => text.split('\n')).filter((line) => line.trim() !== '');
    expect(lines.length).toBeLessThanOrEqual(100);
  });

  it('uses the versions of the libraries that the other tests use', async () => {
    for (const text of await filesOf(example, 'package.json')) {
      const { dependencies } = JSON.parse(text) as { dependencies: Record<string, string> };
      expect(rootPackage.devDependencies).toMatchObject(dependencies);
    }
  });
});
