package dev.sumac.cli;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A network's layers, for its real mix of tensor sizes. The lists ship as resources {@code
 * model-NAME.csv}.
 */
enum Model {
  RESNET50("resnet50"),
  VGG16("vgg16"),
  BERT_BASE("bert-base");

  private final String label;

  Model(String label) {
    this.label = label;
  }

  /** Name on the command line. */
  String label() {
    return label;
  }

  /** The model of that name, or null. */
  static Model ofLabel(String text) {
    for (Model model : values()) {
      if (model.label.equals(text)) {
        return model;
      }
    }
    return null;
  }

  /** Elements of each tensor, in the order of the network. */
  List<Integer> tensorSizes() {
    List<Integer> sizes = new ArrayList<>();
    try (InputStream stream = Model.class.getResourceAsStream("model-" + label + ".csv");
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
      lines.readLine();
      String line;
      while ((line = lines.readLine()) != null) {
        sizes.add(Integer.parseInt(line.substring(line.lastIndexOf(',') + 1)));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return sizes;
  }

  @Override
  public String toString() {
    return label;
  }
}
