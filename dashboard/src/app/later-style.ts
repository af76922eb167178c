/** The style of the screens that nobody sees first. The page names its file. */

let loading: Promise<void> | null = null;

/** Resolves when the style is in effect. A load that failed is tried again by the next call. */
export function loadLaterStyle(): Promise<void> {
  loading ??= new Promise<void>((resolve, reject) => {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = document.querySelector<HTMLMetaElement>('meta[name="later-style"]')?.content ?? '';
    link.onload = () => resolve();
    link.onerror = () => {
      loading = null;
      link.remove();
      reject(new Error('the style of this page cannot be loaded'));
    };
    document.head.append(link);
  });
  return loading;
}
