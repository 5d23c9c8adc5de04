import { relative, resolve } from 'node:path';

/** What is asked for on the command line. */
export interface Request {
  /** `chosen`: the tests of `paths`. The others have paths of their own, which `paths` narrows down unless it is empty. */
  readonly mode: 'all' | 'chosen' | 'unit' | 'matrix';
  /** Relative to the repository: files, folders, or parts of the paths of files. */
  readonly paths: readonly string[];
  /** For `bun test`. */
  readonly options: readonly string[];
}

export type Arguments =
  | Request
  | { readonly mode: 'help' }
  /** Sentences on what is wrong. */
  | { readonly mode: 'wrong'; readonly problems: readonly string[] };

/** The options of `bun test` whose value is the next word. Those with `=` need no mention. */
const WITH_VALUE = ['-t', '--test-name-pattern'];

/** The repository, as far as arguments depend on it. */
export interface Tree {
  readonly root: string;
  /** All files with tests, relative to the root. */
  readonly testFiles: readonly string[];
  readonly exists: (path: string) => boolean;
}

/** Reads the arguments of `npm test`. Each path must lead to a test, so that a misspelt one is told at once and not after a build. */
export function readArguments(words: readonly string[], tree: Tree): Arguments {
  const paths: string[] = [];
  const options: string[] = [];
  const modes = new Set<'unit' | 'matrix'>();
  const problems: string[] = [];
  const rest = [...words];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--help' || word === '-h') return { mode: 'help' };
    if (word === '--unit' || word === '--matrix') modes.add(word === '--unit' ? 'unit' : 'matrix');
    else if (WITH_VALUE.includes(word)) {
      const value = rest.shift();
      if (value === undefined) problems.push(`${word} needs a value.`);
      else options.push(word, value);
    } else if (word.startsWith('-')) options.push(word);
    else {
      const path = inRepository(word, tree.root);
      const problem = problemOf(path, tree);
      if (problem === undefined) paths.push(path);
      else problems.push(problem);
    }
  }
  if (modes.size > 1) problems.push('--unit and --matrix exclude each other.');
  if (problems.length > 0) return { mode: 'wrong', problems };
  const [mode = paths.length === 0 ? 'all' : 'chosen'] = modes;
  return { mode, paths, options };
}

/** An absolute path as seen from the repository; others as they are. */
function inRepository(path: string, root: string): string {
  return path.startsWith('/') ? relative(root, path) || '.' : path;
}

/** Why no test would run for a path; `undefined` if one does. */
function problemOf(path: string, { root, testFiles, exists }: Tree): string | undefined {
  const plain = relative(root, resolve(root, path));
  const runs = (file: string) => file === plain || file.startsWith(plain === '' ? '' : `${plain}/`);
  // `bun test` takes what does not begin with `./` as a part of paths.
  if (testFiles.some((file) => runs(file) || file.includes(path))) return undefined;
  if (!exists(plain)) return `${path} is no file or folder, and no test has this in its path.`;
  const beside = plain.replace(/(?=\.tsx?$)/, '.test');
  if (testFiles.includes(beside)) {
    return `${path} has no tests itself. They are in ${beside}.`;
  }
  return `${path} has no tests.`;
}
