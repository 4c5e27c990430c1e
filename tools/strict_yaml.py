# strict_yaml: reads YAML, and refuses a key that occurs twice. For the checks under tools/.
import sys

try:
    import yaml
except ImportError:
    sys.exit(f"{sys.argv[0].rpartition('/')[2]}: Python's yaml is not installed. Run tools/bootstrap.")


class StrictLoader(yaml.SafeLoader):
    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.YAMLError(f"line {key.start_mark.line + 1}: {key.value} is there twice")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def load(path):
    try:
        return yaml.load(path.read_text(), StrictLoader)
    except yaml.YAMLError as wrong:
        sys.exit(f"{sys.argv[0].rpartition('/')[2]}: {path.name}: {wrong}")
