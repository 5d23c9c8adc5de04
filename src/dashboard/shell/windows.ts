import { signal } from '@preact/signals';

/** The window over the page. */
export const opened = signal<'find' | 'keys' | 'more' | undefined>(undefined);

export const find = () => {
  opened.value = 'find';
};

export const showKeys = () => {
  opened.value = 'keys';
};

export const showMore = () => {
  opened.value = 'more';
};

export const close = () => {
  opened.value = undefined;
};
