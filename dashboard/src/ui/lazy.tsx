import type { ComponentType, VNode } from 'preact';
import { usePart } from '../data/use-part.ts';
import { ErrorNote } from './error-note.tsx';
import { Loading } from './loading.tsx';

interface LazyComponent<Props extends object> {
  (props: Props): VNode;
  /** Loads the script before it is shown, so that what opens by a key opens at once. A failure shows when it is shown. */
  readonly preload: () => void;
}

let parts = 0;

/** A component whose script is loaded when it is first shown. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): LazyComponent<Props> {
  let loaded: ComponentType<Props> | null = null;
  const keep = async (): Promise<ComponentType<Props>> => {
    loaded ??= await load();
    return loaded;
  };
  parts += 1;
  const name = `${parts}`;
  function Lazy(props: Props): VNode {
    const part = usePart(loaded === null ? name : null, keep);
    const Part = loaded ?? part.value;
    if (Part !== undefined) return <Part {...props} />;
    return part.error === undefined ? <Loading /> : <ErrorNote error={part.error} again={part.again} />;
  }
  return Object.assign(Lazy, { preload: () => void keep().catch(() => undefined) });
}
